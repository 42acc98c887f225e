// expect: lists a const member
#include <upcxx/serialization.hpp>

struct holder {
#ifndef CONTROL
  int const a[2] = {1, 2};
#else
  int a[2] = {1, 2};
#endif
  UPCXX_SERIALIZED_FIELDS(a)
};

void test(upcxx::detail::reader& r) { (void)r.read<holder>(); }
