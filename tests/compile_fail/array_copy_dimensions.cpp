// expect: both arrays must have the same number of dimensions; take a slice
#include <atoll/extensions/array/view.hpp>

void f(atl::array<int, 3> const& from, atl::array<int, 2> const& to) {
#ifndef CONTROL
  (void)atl::copy(from, to);
#endif
  (void)atl::copy(from.slice(0, 1), to);
}
