// expect: a dist_object or team must be taken by reference
#include <upcxx/upcxx.hpp>

void right(upcxx::dist_object<int>& d) {
  upcxx::rpc(
      0, [](upcxx::dist_object<int>&) {}, d);
}
#ifndef CONTROL
void wrong(upcxx::dist_object<int>& d) {
  upcxx::rpc(
      0, [](upcxx::dist_object<int>) {}, d);
}
#endif
