// expect: copy: T must be TriviallySerializable
#include <string>

#include <upcxx/upcxx.hpp>

#ifndef CONTROL
using element = std::string;
#else
using element = double;
#endif

void move(upcxx::global_ptr<element, upcxx::memory_kind::cuda_device> p, element const* source) {
  upcxx::copy(source, p, 1);
}
