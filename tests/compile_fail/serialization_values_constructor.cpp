// expect: no constructor takes the deserialized values as rvalues
#include <upcxx/serialization.hpp>

class holder {
 public:
#ifndef CONTROL
  explicit holder(std::string& s) : s_(s) {}
#else
  explicit holder(std::string const& s) : s_(s) {}
#endif
  UPCXX_SERIALIZED_VALUES(s_)

 private:
  std::string s_;
};

void test(upcxx::detail::reader& r, void* raw) { r.read_into<holder>(raw); }
