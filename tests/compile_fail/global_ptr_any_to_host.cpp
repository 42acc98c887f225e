// expect: could not convert|no viable conversion|cannot convert|conversion from
#include <upcxx/global_ptr.hpp>

upcxx::global_ptr<int> on_host(upcxx::global_ptr<int, upcxx::memory_kind::any> p) {
#ifndef CONTROL
  upcxx::global_ptr<int> q = p;
  return q;
#else
  return upcxx::static_kind_cast<upcxx::memory_kind::host>(p);
#endif
}
