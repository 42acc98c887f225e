// expect: reduce: the operation must be callable with two T and give a T

#include <upcxx/upcxx.hpp>

void use(double* values) {
#ifndef CONTROL
  upcxx::reduce_all(values, values, 10, [](double* a, double* b) { return *a + *b; }).wait();
#endif
  upcxx::reduce_all(values, values, 10, [](double a, double b) { return a + b; }).wait();
}
