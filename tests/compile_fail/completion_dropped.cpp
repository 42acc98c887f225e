// expect: :20:.*nobody would learn.*:21:.*:22:.*:23:.*:24:.*:25:.*:26:.*:27:.*nobody could free.*:28:.*asks for nothing
#include <upcxx/upcxx.hpp>

#pragma GCC diagnostic error "-Wunused-result"

void kept(upcxx::global_ptr<int> p, upcxx::promise<> done, upcxx::persona& other) {
  upcxx::rput(1, p, upcxx::operation_cx::as_promise(done));
  upcxx::rput(1, p, upcxx::remote_cx::as_rpc([] {}));
  upcxx::rpc_ff(0, [] {});
  upcxx::rpc(0, upcxx::operation_cx::as_lpc(other, [] {}), [] {});
  upcxx::barrier_async(upcxx::world(), upcxx::operation_cx::as_promise(done));
  upcxx::rget(p).then([](int) {});
  done.finalize();
}

#ifndef CONTROL
void dropped(upcxx::global_ptr<int> p, int* buffer, upcxx::persona& other, upcxx::dist_object<int> const& d,
             upcxx::atomic_domain<int> const& a) {
  upcxx::future<> unused;
  upcxx::rput(1, p);
  upcxx::rpc(0, [] {});
  upcxx::copy(p, buffer, 2);
  upcxx::reduce_all(1, upcxx::op_fast_add);
  other.lpc([] {});
  d.fetch(0);
  a.add(p, 1, std::memory_order_relaxed);
  upcxx::allocate<int>(4);
  upcxx::operation_cx::as_future();
}
#endif
