// expect: rget_irregular, rget_regular: destinations must not be const
#include <upcxx/upcxx.hpp>

void f(upcxx::global_ptr<int const> const* from, int const* const* wrong, int* const* to) {
#ifndef CONTROL
  upcxx::rget_regular(from, from + 1, 1, wrong, wrong + 1, 1);
#endif
  upcxx::rget_regular(from, from + 1, 1, to, to + 1, 1);
  static_cast<void>(wrong);
}
