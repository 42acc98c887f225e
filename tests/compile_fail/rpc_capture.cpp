// expect: rpc: this function object cannot be sent
#include <string>

#include <upcxx/upcxx.hpp>

void right(std::string const& s) {
  upcxx::rpc(
      0, [](std::string const&) {}, s);
}
#ifndef CONTROL
void wrong(std::string const& s) {
  upcxx::rpc(0, [s] { return s.size(); });
}
#endif
