// expect: rpc: an argument's type is not Serializable
#include <string>

#include <upcxx/upcxx.hpp>

struct person {
  std::string name;
};

void right() {
  upcxx::rpc(
      0, [](std::string const&) {}, person{"x"}.name);
}
#ifndef CONTROL
void wrong() {
  upcxx::rpc(
      0, [](person const&) {}, person{"x"});
}
#endif
