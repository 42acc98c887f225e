// expect: B must have no virtual functions
#include <upcxx/serialization.hpp>

struct base {
#ifndef CONTROL
  virtual ~base() = default;
#endif
  int v = 0;
  UPCXX_SERIALIZED_FIELDS(v)
};
struct derived : base {
  UPCXX_SERIALIZED_FIELDS(UPCXX_SERIALIZED_BASE(base))
};

void test(upcxx::detail::writer& w, derived const& o) { w.write(o); }
