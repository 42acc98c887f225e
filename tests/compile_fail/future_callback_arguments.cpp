// expect: one argument for each element of the future
#include <upcxx/future.hpp>

void right(upcxx::future<int, char> f) {
  f.then([](int, char) {});
}
#ifndef CONTROL
void wrong(upcxx::future<int, char> f) {
  f.then([](int) {});
}
#endif
