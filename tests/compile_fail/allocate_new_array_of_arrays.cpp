// expect: new_array<T>: T must not be an array type itself
#include <upcxx/allocate.hpp>

void make() {
#ifndef CONTROL
  (void)upcxx::new_array<int[4]>(2);
#else
  (void)upcxx::new_array<int>(8);
#endif
}
