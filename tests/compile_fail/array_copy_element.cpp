// expect: both arrays must have the same type of element
#include <atoll/extensions/array/view.hpp>

void f(atl::array<float, 2> const& wrong, atl::array<double, 2> const& from,
       atl::array<double, 2> const& to) {
#ifndef CONTROL
  (void)atl::copy(wrong, to);
#endif
  (void)atl::copy(from, to);
  static_cast<void>(wrong);
}
