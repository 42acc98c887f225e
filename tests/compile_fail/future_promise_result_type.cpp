// expect: an element cannot be constructed from its argument
#include <upcxx/future.hpp>

void right(upcxx::promise<int*> p) { p.fulfill_result(nullptr); }
#ifndef CONTROL
void wrong(upcxx::promise<int*> p) { p.fulfill_result(1.5); }
#endif
