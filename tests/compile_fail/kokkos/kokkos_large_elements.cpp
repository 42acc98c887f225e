// expect: values are copied byte by byte and have at most 8 bytes
#include <atoll/kokkos.hpp>

struct large {
#ifndef CONTROL
  double of[2];
#else
  double of[1];
#endif
};
large first(atl::kokkos::remote_view<large, 1> const& all) { return all.get(0); }
