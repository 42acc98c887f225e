// expect: rpc: the callback.s result is not Serializable
#include <string>

#include <upcxx/upcxx.hpp>

struct person {
  std::string name;
};

void right() {
  upcxx::rpc_ff(0, [] { return person{"x"}; });
}
#ifndef CONTROL
void wrong() {
  upcxx::rpc(0, [] { return person{"x"}; });
}
#endif
