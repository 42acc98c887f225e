// expect: T is a virtual base, which only the object itself can find
#include <upcxx/global_ptr.hpp>

struct plain_base {
  int x;
};
struct virtual_base {
  int y;
};
struct object : plain_base, virtual virtual_base {};

auto upcast(upcxx::global_ptr<object> p) {
#ifndef CONTROL
  return upcxx::static_pointer_cast<virtual_base>(p);
#else
  return upcxx::static_pointer_cast<plain_base>(p);
#endif
}
