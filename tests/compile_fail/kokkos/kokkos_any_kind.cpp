// expect: must be of a known kind, not memory_kind::any
#include <atoll/kokkos.hpp>

#ifndef CONTROL
auto make(upcxx::global_ptr<int, upcxx::memory_kind::any> memory) {
#else
auto make(upcxx::global_ptr<int> memory) {
#endif
  return atl::kokkos::make_view<int*>(memory, 5);
}
