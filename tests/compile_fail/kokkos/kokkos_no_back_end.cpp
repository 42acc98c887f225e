// expect: Kokkos has no back end here for this kind of device
#include <atoll/kokkos.hpp>

#ifndef CONTROL
static_assert(atl::kokkos::detail::check_space<upcxx::memory_kind::ze_device, void>());
#else
static_assert(atl::kokkos::detail::check_space<upcxx::memory_kind::host, void>());
#endif
