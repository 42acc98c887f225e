// expect: lpc: the result travels back.*must be movable.*lpc: a function passed as an lvalue is copied
#include <memory>
#include <utility>

#include <upcxx/upcxx.hpp>

struct fixed {
  fixed() = default;
  fixed(fixed&&) = delete;
};

auto move_only = [p = std::make_unique<int>(1)] {};

void right(upcxx::persona& p) { p.lpc(std::move(move_only)); }
#ifndef CONTROL
void wrong(upcxx::persona& p) {
  p.lpc([] { return fixed(); });
  p.lpc(move_only);
}
#endif
