// expect: broadcast: the buffer is written on all ranks but the root; it must not be const
#include <upcxx/upcxx.hpp>

auto right(int* buffer) { return upcxx::broadcast(buffer, 1, 0); }
#ifndef CONTROL
auto wrong(int const* buffer) { return upcxx::broadcast(buffer, 1, 0); }
#endif
