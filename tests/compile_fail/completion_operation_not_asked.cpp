// expect: nobody would learn that this operation is complete
#include <upcxx/rpc.hpp>

void test() {
  upcxx::rpc_ff(0, upcxx::source_cx::as_future(), [] {});
#ifndef CONTROL
  upcxx::rpc(0, upcxx::source_cx::as_future(), [] {});
#endif
}
