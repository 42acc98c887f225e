// expect: dist_object::fetch: T must be Serializable
#include <string>

#include <upcxx/upcxx.hpp>

struct person {
  std::string name;
};

void right(upcxx::dist_object<std::string>& d) { d.fetch(0); }
#ifndef CONTROL
void wrong(upcxx::dist_object<person>& d) { d.fetch(0); }
#endif
