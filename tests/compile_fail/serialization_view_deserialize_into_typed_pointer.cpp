// expect: use the .*_overwrite form to replace an existing object
#include <upcxx/view.hpp>

void test(upcxx::view<std::string> const& v, std::string& existing) {
  v.begin().deserialize_overwrite(existing);
#ifndef CONTROL
  v.begin().deserialize_into(&existing);
#endif
}
