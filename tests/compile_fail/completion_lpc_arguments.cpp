// expect: as_lpc: the function cannot be called with the values
#include <string>

#include <upcxx/upcxx.hpp>

void right(upcxx::global_ptr<int> p) {
  upcxx::rget(p, upcxx::operation_cx::as_lpc(upcxx::current_persona(), [](int) {}));
}
#ifndef CONTROL
void wrong(upcxx::global_ptr<int> p) {
  upcxx::rget(p, upcxx::operation_cx::as_lpc(upcxx::current_persona(), [](std::string const&) {}));
}
#endif
