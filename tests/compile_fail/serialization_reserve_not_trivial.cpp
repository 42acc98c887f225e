// expect: reserve<T>: T must be TriviallySerializable
#include <upcxx/serialization.hpp>

void test(upcxx::detail::writer& w) {
  auto a = w.reserve<int>();
  w.commit(a, 1);
#ifndef CONTROL
  auto b = w.reserve<std::string>();
  w.commit(b, std::string());
#endif
}
