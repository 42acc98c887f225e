// expect: this type is not Serializable: give the class UPCXX_SERIALIZED_FIELDS
#include <upcxx/serialization.hpp>

struct plain {
  std::string s;
};
struct carried {
  std::string s;
  UPCXX_SERIALIZED_FIELDS(s)
};

void test(upcxx::detail::writer& w, carried const& c, [[maybe_unused]] plain const& p) {
  w.write(c);
#ifndef CONTROL
  w.write(p);
#endif
}
