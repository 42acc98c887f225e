// expect: a callback cannot return a future of a view, nor of what contains one
#include <array>
#include <string>

#include <upcxx/rpc.hpp>
#include <upcxx/view.hpp>

void test() {
  upcxx::rpc(0, [] { return upcxx::make_future(std::array<std::string, 2>(), 1); });
#ifndef CONTROL
  upcxx::rpc(0, [] { return upcxx::make_future(1, std::array<upcxx::view<std::string>, 2>()); });
#endif
}
