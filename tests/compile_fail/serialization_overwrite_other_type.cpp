// expect: not of the type that the written one deserializes to
#include <upcxx/serialization.hpp>

void test(upcxx::detail::reader& r, std::string& text, int& number) {
  r.read_overwrite<std::string>(text);
  r.read_overwrite<int>(number);
#ifndef CONTROL
  r.read_overwrite<std::string>(number);
#endif
}
