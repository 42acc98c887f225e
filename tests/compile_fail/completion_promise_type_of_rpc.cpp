// expect: as_promise: the promise cannot take the values
#include <string>

#include <upcxx/upcxx.hpp>

void right(upcxx::promise<long> q) {
  upcxx::rpc(0, upcxx::operation_cx::as_promise(q), [] { return 1; });
}
#ifndef CONTROL
void wrong(upcxx::promise<> q) {
  upcxx::rpc(0, upcxx::operation_cx::as_promise(q), [] { return 1; });
}
#endif
