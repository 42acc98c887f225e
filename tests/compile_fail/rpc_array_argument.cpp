// expect: rpc: an array cannot be an argument
#include <string>

#include <upcxx/upcxx.hpp>

void right() {
  upcxx::rpc(
      0, [](std::string const&) {}, std::string("text"));
}
#ifndef CONTROL
void wrong() {
  upcxx::rpc(
      0, [](char const*) {}, "text");
}
#endif
