// expect: nobody would learn that this operation is complete
#include <upcxx/upcxx.hpp>
#include <utility>

void f(std::pair<int*, int>* to, std::pair<upcxx::global_ptr<int>, int>* from) {
#ifndef CONTROL
  upcxx::rput_irregular(to, to + 1, from, from + 1, upcxx::source_cx::as_buffered());
#endif
  upcxx::rput_irregular(to, to + 1, from, from + 1, upcxx::remote_cx::as_rpc([] {}));
}
