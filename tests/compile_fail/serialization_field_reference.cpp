// expect: lists a reference member
#include <upcxx/serialization.hpp>

struct holder {
  static inline int somewhere = 0;
#ifndef CONTROL
  int& a = somewhere;
#else
  int a = 0;
#endif
  UPCXX_SERIALIZED_FIELDS(a)
};

void test(upcxx::detail::writer& w, holder const& o) { w.write(o); }
