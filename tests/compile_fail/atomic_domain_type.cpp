// expect: atomic_domain<T>: T must be float, double, or an integral type of 32 or 64 bits
#include <upcxx/upcxx.hpp>

void f(upcxx::global_ptr<short> p) {
#ifndef CONTROL
  upcxx::atomic_domain<short> domain({upcxx::atomic_op::load});
  domain.load(p, std::memory_order_relaxed);
#else
  upcxx::atomic_domain<unsigned> domain({upcxx::atomic_op::load});
  domain.load(upcxx::reinterpret_pointer_cast<unsigned>(p), std::memory_order_relaxed);
#endif
}
