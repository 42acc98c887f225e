// expect: T has no default constructor
#include <upcxx/allocate.hpp>

struct needs_one {
  explicit needs_one(int) {}
};

void make() {
#ifndef CONTROL
  (void)upcxx::new_array<needs_one>(2);
#else
  (void)upcxx::allocate<needs_one>(2);
#endif
}
