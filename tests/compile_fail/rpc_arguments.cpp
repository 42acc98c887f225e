// expect: rpc: the function cannot be called with these arguments
#include <string>

#include <upcxx/upcxx.hpp>

void right() {
  upcxx::rpc(
      0, [](std::string const&) {}, std::string("text"));
}
#ifndef CONTROL
void wrong() {
  upcxx::rpc(
      0, [](int) {}, std::string("text"));
}
#endif
