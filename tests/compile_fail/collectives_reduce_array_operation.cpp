// expect: reduce: the operation must be callable with two T and give a T
#include <upcxx/upcxx.hpp>

void right(int const* a, int* b) {
  upcxx::reduce_all(a, b, 8, [](int x, int y) { return x + y; });
}
#ifndef CONTROL
void wrong(int const* a, int* b) {
  upcxx::reduce_all(a, b, 8, [](int x, int y) { return x == y ? nullptr : &x; });
}
#endif
