// expect: static_cast from U\* to T\* is not well-formed
#include <upcxx/global_ptr.hpp>

struct apple {
  int x;
};
struct pear {
  int x;
};

auto turn(upcxx::global_ptr<apple> p) {
#ifndef CONTROL
  return upcxx::static_pointer_cast<pear>(p);
#else
  return upcxx::reinterpret_pointer_cast<pear>(p);
#endif
}
