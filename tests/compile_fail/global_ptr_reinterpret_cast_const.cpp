// expect: reinterpret_cast from U\* to T\* is not well-formed
#include <upcxx/global_ptr.hpp>

auto turn(upcxx::global_ptr<int const> p) {
#ifndef CONTROL
  return upcxx::reinterpret_pointer_cast<char>(p);
#else
  return upcxx::reinterpret_pointer_cast<char const>(p);
#endif
}
