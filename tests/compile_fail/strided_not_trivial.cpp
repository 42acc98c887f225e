// expect: atl::copy_strided: T must be TriviallySerializable
#include <string>

#include <atoll/strided.hpp>

void f(upcxx::global_ptr<std::string> wrong, std::string const* from, upcxx::global_ptr<char> right,
       char const* characters, std::ptrdiff_t const* strides, std::size_t const* counts) {
#ifndef CONTROL
  (void)atl::copy_strided(wrong, strides, from, strides, counts, 2);
#endif
  (void)atl::copy_strided(right, strides, characters, strides, counts, 2);
  static_cast<void>(wrong);
  static_cast<void>(from);
}
