// expect: marked UPCXX_SERIALIZED_DELETE
#include <upcxx/serialization.hpp>

struct base {
  int v;
  UPCXX_SERIALIZED_FIELDS(v)
};
struct derived : base {
  UPCXX_SERIALIZED_DELETE()
};

void test(upcxx::detail::writer& w, base const& b, [[maybe_unused]] derived const& d) {
  w.write(b);
#ifndef CONTROL
  w.write(d);
#endif
}
