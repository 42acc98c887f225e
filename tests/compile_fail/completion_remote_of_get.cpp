// expect: no remote completion to ask for .remote_cx.: only puts and copies that arrive at a rank have
#include <upcxx/rma.hpp>

void test(upcxx::global_ptr<int> place, int* to) {
  upcxx::rput(to, place, 1, upcxx::remote_cx::as_rpc([] {}) | upcxx::operation_cx::as_future());
#ifndef CONTROL
  upcxx::rget(place, to, 1, upcxx::remote_cx::as_rpc([] {}) | upcxx::operation_cx::as_future());
#endif
}
