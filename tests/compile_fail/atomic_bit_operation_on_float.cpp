// expect: atomic_domain<T>: bit_and, bit_or and bit_xor need an integral T
#include <upcxx/upcxx.hpp>

void f(upcxx::atomic_domain<float> const& domain, upcxx::global_ptr<float> p) {
#ifndef CONTROL
  domain.fetch_bit_or(p, 1, std::memory_order_relaxed);
#endif
  domain.fetch_add(p, 1, std::memory_order_relaxed);
}
