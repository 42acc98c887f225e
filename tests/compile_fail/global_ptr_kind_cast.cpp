// expect: memory of one specific kind is never of another
#include <upcxx/global_ptr.hpp>

auto move(upcxx::global_ptr<int, upcxx::memory_kind::cuda_device> p) {
#ifndef CONTROL
  return upcxx::static_kind_cast<upcxx::memory_kind::host>(p);
#else
  return upcxx::static_kind_cast<upcxx::memory_kind::any>(p);
#endif
}
