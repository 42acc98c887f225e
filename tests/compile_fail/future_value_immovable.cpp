// expect: make_future, to_future, when_all: a value of a type that cannot be moved cannot be kept
#include <upcxx/upcxx.hpp>

struct fixed {
  fixed() = default;
  fixed(fixed&&) = delete;
};

fixed one;
auto right() { return upcxx::make_future<fixed&>(one); }
#ifndef CONTROL
auto wrong() { return upcxx::make_future(fixed()); }
#endif
