// expect: take them by value, by T const& or by T&&, not by T&
#include <upcxx/rpc.hpp>

void test() {
  upcxx::rpc(
      0, [](int const&) {}, 1);
#ifndef CONTROL
  upcxx::rpc(
      0, [](int&) {}, 1);
#endif
}
