// expect: deleted function|deleted constructor

#include <utility>

#include <upcxx/upcxx.hpp>

void use(upcxx::team& t) {
#ifndef CONTROL
  upcxx::team copy = t;
#else
  upcxx::team moved = std::move(t);
#endif
}
