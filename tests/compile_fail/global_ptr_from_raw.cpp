// expect: could not convert|no viable conversion|cannot convert|conversion from
#include <upcxx/global_ptr.hpp>

upcxx::global_ptr<int> share(int* raw) {
#ifndef CONTROL
  upcxx::global_ptr<int> p = raw;
  return p;
#else
  return upcxx::to_global_ptr(raw);
#endif
}
