// expect: use the .*_overwrite form to replace an existing object
#include <upcxx/serialization.hpp>

void test(upcxx::detail::reader& r, std::string& existing, void* raw) {
  r.read_into<std::string>(raw);
  r.read_overwrite<std::string>(&existing);
#ifndef CONTROL
  r.read_into<std::string>(&existing);
#endif
}
