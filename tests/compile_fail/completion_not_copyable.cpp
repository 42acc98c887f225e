// expect: as_lpc: this function can only be moved, so its completion object serves one operation
#include <memory>
#include <utility>

#include <upcxx/upcxx.hpp>

auto request(upcxx::persona& p) {
  return upcxx::operation_cx::as_lpc(p, [q = std::make_unique<int>(1)] {});
}

void right(upcxx::persona& p) {
  auto once = request(p);
  upcxx::barrier_async(upcxx::world(), std::move(once));
  upcxx::barrier_async(upcxx::world(), request(p));
}
#ifndef CONTROL
void wrong(upcxx::persona& p) {
  auto const often = request(p);
  upcxx::barrier_async(upcxx::world(), often);
}
#endif
