// expect: a C array cannot be sent
#include <upcxx/serialization.hpp>

void test(upcxx::detail::writer& w) {
  upcxx::detail::serialize(w, std::string("text"));
#ifndef CONTROL
  upcxx::detail::serialize(w, "text");
#endif
}
