// expect: give an index, a pair of indices or Kokkos::ALL for each dimension
#include <atoll/kokkos.hpp>

auto row(atl::kokkos::global_view<int, 2> const& matrix) {
#ifndef CONTROL
  return atl::kokkos::subview(matrix, 3);
#else
  return atl::kokkos::subview(matrix, 3, Kokkos::ALL);
#endif
}
