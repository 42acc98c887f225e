// expect: serialized_field<holder, 1,
#include <memory>

#include <upcxx/serialization.hpp>

struct holder {
  int a = 0;
#ifndef CONTROL
  std::shared_ptr<int> b;
#else
  int* b = nullptr;
#endif
  UPCXX_SERIALIZED_FIELDS(a, b)
};

void test(upcxx::detail::writer& w, holder const& o) { w.write(o); }
