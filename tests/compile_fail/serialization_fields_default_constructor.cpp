// expect: needs a default constructor
#include <upcxx/serialization.hpp>

class base {
 public:
  UPCXX_SERIALIZED_FIELDS(v_)
#ifndef CONTROL
 private:
  friend struct derived;
#endif
  base() = default;
  int v_ = 0;
};
struct derived : base {
#ifndef CONTROL
 private:
  derived() = default;
#endif
};

// base is fine, its macro is its own; derived inherits it, and so must be constructible by anyone.
void test(upcxx::detail::reader& r, void* raw) {
  r.read_into<base>(raw);
  r.read_into<derived>(raw);
}
