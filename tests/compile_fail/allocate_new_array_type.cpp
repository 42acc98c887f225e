// expect: T must not be an array type; use new_array
#include <upcxx/allocate.hpp>

void make() {
#ifndef CONTROL
  (void)upcxx::new_<int[4]>();
#else
  (void)upcxx::new_array<int>(4);
#endif
}
