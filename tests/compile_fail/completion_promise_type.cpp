// expect: as_promise: the promise cannot take the values
#include <string>

#include <upcxx/upcxx.hpp>

void right(upcxx::global_ptr<int> p, upcxx::promise<long> q) {
  upcxx::rget(p, upcxx::operation_cx::as_promise(q));
}
#ifndef CONTROL
void wrong(upcxx::global_ptr<int> p, upcxx::promise<std::string> q) {
  upcxx::rget(p, upcxx::operation_cx::as_promise(q));
}
#endif
