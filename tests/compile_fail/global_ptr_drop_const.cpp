// expect: could not convert|no viable conversion|cannot convert|conversion from
#include <upcxx/global_ptr.hpp>

upcxx::global_ptr<int> writable(upcxx::global_ptr<int const> p) {
#ifndef CONTROL
  upcxx::global_ptr<int> q = p;
  return q;
#else
  return upcxx::const_pointer_cast<int>(p);
#endif
}
