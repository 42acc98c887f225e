// expect: cannot convert|no viable conversion
#include <upcxx/global_ptr.hpp>

int as_number(upcxx::global_ptr<int> p) {
#ifndef CONTROL
  int x = p;
  return x;
#else
  return p.where();
#endif
}
