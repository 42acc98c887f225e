// expect: lpc: the function must be callable without arguments
#include <upcxx/upcxx.hpp>

void right() {
  upcxx::current_persona().lpc([] {});
}
#ifndef CONTROL
void wrong() {
  upcxx::current_persona().lpc([](int) {});
}
#endif
