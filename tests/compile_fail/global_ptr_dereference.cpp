// expect: no match for|indirection requires pointer operand
#include <upcxx/global_ptr.hpp>

int read(upcxx::global_ptr<int> p) {
#ifndef CONTROL
  return *p;
#else
  return *p.local();
#endif
}
