// expect: this operation has no source completion to ask for
#include <upcxx/rma.hpp>

void test(upcxx::global_ptr<int> place, int const* from) {
  upcxx::rput(from, place, 1, upcxx::source_cx::as_future() | upcxx::operation_cx::as_future());
#ifndef CONTROL
  upcxx::rput(1, place, upcxx::source_cx::as_future() | upcxx::operation_cx::as_future());
#endif
}
