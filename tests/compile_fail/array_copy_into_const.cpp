// expect: the destination's elements must not be const
#include <atoll/extensions/array/view.hpp>

void f(atl::array<int const, 1> const& from, atl::array<int, 1> const& to) {
#ifndef CONTROL
  (void)atl::copy(from, from);
#endif
  (void)atl::copy(from, to);
}
