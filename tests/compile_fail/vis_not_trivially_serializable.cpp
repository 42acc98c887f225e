// expect: rput_strided: T must be TriviallySerializable
#include <string>
#include <upcxx/upcxx.hpp>

void f(std::string const* source, upcxx::global_ptr<std::string> dest, upcxx::global_ptr<int> other) {
#ifndef CONTROL
  upcxx::rput_strided<1>(source, {{32}}, dest, {{32}}, {{4}});
#endif
  int const value = static_cast<int>(source->size());
  upcxx::rput_strided<0>(&value, nullptr, other, nullptr, nullptr);
  static_cast<void>(dest);
}
