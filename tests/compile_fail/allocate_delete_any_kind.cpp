// expect: no matching function
#include <upcxx/allocate.hpp>

void drop(upcxx::global_ptr<int, upcxx::memory_kind::any> p) {
#ifndef CONTROL
  upcxx::delete_(p);
#else
  upcxx::delete_(upcxx::static_kind_cast<upcxx::memory_kind::host>(p));
#endif
}
