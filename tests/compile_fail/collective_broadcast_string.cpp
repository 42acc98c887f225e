// expect: broadcast: T must be TriviallySerializable; for others there is upcxx::experimental::broadcast_nontrivial

#include <string>

#include <upcxx/upcxx.hpp>

void use(std::string name) {
#ifndef CONTROL
  upcxx::broadcast(name, 0).wait();
#endif
  upcxx::experimental::broadcast_nontrivial(name, 0).wait();
}
