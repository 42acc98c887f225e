// expect: rpc: an argument's type is not Serializable.*this_type_is_not_serializable<person>
#include <string>
#include <vector>

#include <upcxx/upcxx.hpp>

struct person {
  std::string name;
};

void right() {
  upcxx::rpc(
      0, [](std::string const&) {}, person{"x"}.name);
}
#ifndef CONTROL
void wrong(std::vector<person> const& people) {
  upcxx::rpc(
      0, [](std::vector<person> const&) {}, people);
}
#endif
