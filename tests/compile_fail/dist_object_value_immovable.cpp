// expect: dist_object: a value of a type that cannot be moved cannot be passed; have it constructed in place
#include <upcxx/upcxx.hpp>

struct fixed {
  explicit fixed(int) {}
  fixed(fixed&&) = delete;
};

void right() { upcxx::dist_object<fixed> const d(upcxx::world(), 1); }
#ifndef CONTROL
void wrong() { upcxx::dist_object<fixed> const d(fixed(1)); }
#endif
