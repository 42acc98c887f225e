// expect: `U const&` for a value of type U
#include <upcxx/future.hpp>

void right(upcxx::future<int> f) {
  f.then([](int const&) {});
}
#ifndef CONTROL
void wrong(upcxx::future<int> f) {
  f.then([](int&) {});
}
#endif
