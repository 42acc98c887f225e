// expect: reduce: the operation must be callable with two T and give a T
#include <upcxx/upcxx.hpp>

void right() {
  upcxx::reduce_all(1, [](int a, int b) { return a + b; });
}
#ifndef CONTROL
void wrong() {
  upcxx::reduce_all(1, [](int a) { return a; });
}
#endif
