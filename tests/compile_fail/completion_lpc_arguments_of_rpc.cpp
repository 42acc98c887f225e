// expect: as_lpc: the function cannot be called with the values
#include <string>

#include <upcxx/upcxx.hpp>

void right() {
  upcxx::rpc(0, upcxx::operation_cx::as_lpc(upcxx::current_persona(), [](int) {}), [] { return 1; });
}
#ifndef CONTROL
void wrong() {
  upcxx::rpc(0, upcxx::operation_cx::as_lpc(upcxx::current_persona(), [] {}), [] { return 1; });
}
#endif
