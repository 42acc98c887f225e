// expect: dist_object: T must not be a reference
#include <functional>
#include <string>

#include <upcxx/upcxx.hpp>

void right(std::string& s) { upcxx::dist_object<std::reference_wrapper<std::string>> const d(s); }
#ifndef CONTROL
void wrong(std::string& s) { upcxx::dist_object<std::string&> const d(s); }
#endif
