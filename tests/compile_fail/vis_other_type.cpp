// expect: sources must convert to T const\*
#include <upcxx/upcxx.hpp>

void f(long const* const* from, int const* const* right, upcxx::global_ptr<int> const* to) {
#ifndef CONTROL
  upcxx::rput_regular(from, from + 1, 1, to, to + 1, 1);
#endif
  upcxx::rput_regular(right, right + 1, 1, to, to + 1, 1);
  static_cast<void>(from);
}
