// expect: matching function for call to .*rput
#include <upcxx/upcxx.hpp>

void put(upcxx::global_ptr<int, upcxx::memory_kind::cuda_device> p, int const* source) {
#ifndef CONTROL
  upcxx::rput(source, p, 1);
#else
  upcxx::copy(source, p, 1);
#endif
}
