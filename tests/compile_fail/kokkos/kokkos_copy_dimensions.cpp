// expect: must have the same number of dimensions; take a subview
#include <atoll/kokkos.hpp>

#ifndef CONTROL
using target = Kokkos::View<int*, Kokkos::HostSpace>;
#else
using target = Kokkos::View<int**, Kokkos::HostSpace>;
#endif
auto send(Kokkos::View<int**, Kokkos::HostSpace> from, target to) { return atl::kokkos::copy(from, to); }
