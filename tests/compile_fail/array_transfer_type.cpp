// expect: atl::transfer<T, N>: T must be TriviallySerializable
#include <string>

#include <atoll/extensions/array/transfer.hpp>

void f() {
#ifndef CONTROL
  atl::transfer<std::string, 1> wrong;
#endif
  atl::transfer<double, 1> right;
}
