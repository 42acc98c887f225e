// expect: use std::move for move-only callbacks
#include <utility>

#include <upcxx/future.hpp>

struct callback {
  callback() = default;
  callback(callback&&) = default;
  void operator()() const {}
};

void test(upcxx::future<> f) {
  callback c;
#ifndef CONTROL
  f.then(c);
#endif
  f.then(std::move(c));
}
