// expect: T cannot be constructed by T\(args\.\.\.\) with these arguments
#include <upcxx/allocate.hpp>

struct needs_two {
  needs_two(int, int) {}
};

void make() {
#ifndef CONTROL
  (void)upcxx::new_<needs_two>(1);
#else
  (void)upcxx::new_<needs_two>(1, 2);
#endif
}
