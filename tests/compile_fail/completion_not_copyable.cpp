// expect: as_lpc: the function must be copyable.*as_rpc: the function and arguments that are passed as rvalues
#include <memory>
#include <utility>

#include <upcxx/upcxx.hpp>

struct move_only {
  int value = 0;
  move_only() = default;
  move_only(move_only&&) = default;
  UPCXX_SERIALIZED_FIELDS(value)
};

auto right(move_only& m) {
  return upcxx::remote_cx::as_rpc([](move_only const&) {}, m);
}
#ifndef CONTROL
auto wrong(upcxx::persona& p) {
  return upcxx::operation_cx::as_lpc(p, [q = std::make_unique<int>(1)] {});
}
auto wrong() {
  return upcxx::remote_cx::as_rpc([](move_only const&) {}, move_only());
}
#endif
