// expect: a future cannot be an argument
#include <upcxx/rpc.hpp>

void test() {
  upcxx::rpc_ff(
      0, [](int) {}, 1);
#ifndef CONTROL
  upcxx::rpc_ff(
      0, [](upcxx::future<> const&) {}, upcxx::make_future());
#endif
}
