// expect: one argument for each element of the promise
#include <upcxx/future.hpp>

void right(upcxx::promise<int, int> p) { p.fulfill_result(1, 2); }
#ifndef CONTROL
void wrong(upcxx::promise<int, int> p) { p.fulfill_result(1); }
#endif
