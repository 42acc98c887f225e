// expect: all arrays are in memory of one kind, which must be named
#include <atoll/extensions/array/ghosts.hpp>

using upcxx::memory_kind;

void f() {
#ifndef CONTROL
  atl::ghost_exchange<double, 1, memory_kind::any> wrong;
#endif
  atl::ghost_exchange<double, 1, memory_kind::cuda_device> right;
}
