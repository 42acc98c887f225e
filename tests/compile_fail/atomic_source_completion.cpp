// expect: this operation has no source completion to ask for
#include <upcxx/upcxx.hpp>

void f(upcxx::atomic_domain<int> const& domain, upcxx::global_ptr<int> p) {
#ifndef CONTROL
  domain.store(p, 1, std::memory_order_release,
               upcxx::source_cx::as_future() | upcxx::operation_cx::as_future());
#endif
  domain.store(p, 1, std::memory_order_release, upcxx::operation_cx::as_future());
}
