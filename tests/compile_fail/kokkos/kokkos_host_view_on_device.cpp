// expect: a View over host memory must be in Kokkos::HostSpace
#include <atoll/kokkos.hpp>

struct device_space {  // stands for that of a Kokkos back end
  using memory_space = device_space;
};

auto make(upcxx::global_ptr<int> memory) {
#ifndef CONTROL
  return atl::kokkos::make_view<int*, void, device_space>(memory, 5);
#else
  return atl::kokkos::make_view<int*, void, Kokkos::HostSpace>(memory, 5);
#endif
}
