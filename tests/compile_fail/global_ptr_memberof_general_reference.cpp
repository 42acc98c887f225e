// expect: must not be a reference nor an element of an array
#include <upcxx/memberof.hpp>

struct row {
  int values[4];
};

auto member(upcxx::global_ptr<row> p) {
#ifndef CONTROL
  return upcxx_memberof_general(p, values[2]);
#else
  return upcxx_memberof_general(p, values);
#endif
}
