// expect: a View over device memory must be in the memory space of that device
#include <atoll/kokkos.hpp>

struct device_space {  // stands for that of a Kokkos back end
  using memory_space = device_space;
  using execution_space = Kokkos::Serial;
};
template <>
struct atl::kokkos::kokkos_space<upcxx::memory_kind::hip_device> {
#ifndef CONTROL
  using type = device_space;
#else
  using type = Kokkos::HostSpace;
#endif
};
static_assert(atl::kokkos::detail::check_space<upcxx::memory_kind::hip_device, Kokkos::HostSpace>());
