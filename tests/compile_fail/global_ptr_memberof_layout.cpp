// expect: must be standard-layout; use upcxx_memberof_general
#include <upcxx/global_ptr.hpp>

struct mixed {
  int a;

 private:
  int hidden_ = 0;

 public:
  int touch() const { return hidden_; }
};

auto member(upcxx::global_ptr<mixed> p) {
#ifndef CONTROL
  return upcxx_memberof(p, a);
#else
  return upcxx_experimental_memberof_unsafe(p, a);
#endif
}
