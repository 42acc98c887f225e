// expect: a callback cannot return a view, nor what contains one
#include <upcxx/rpc.hpp>
#include <upcxx/view.hpp>

void test() {
  upcxx::rpc(
      0, [](upcxx::view<int> v) { return v.size(); }, upcxx::view<int>());
#ifndef CONTROL
  upcxx::rpc(
      0, [](upcxx::view<int> v) { return v; }, upcxx::view<int>());
#endif
}
