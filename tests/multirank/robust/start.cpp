// What a rank has after init and a barrier: bytes of its private heap, and connections to other hosts.

#include <malloc.h>

#include <cstdio>

#include <upcxx/upcxx.hpp>

#include "engine/network/network_messages.hpp"

int main() {
  upcxx::init();
  std::size_t const after_init = mallinfo2().uordblks;
  upcxx::barrier();
  std::size_t const after_barrier = mallinfo2().uordblks;
  std::printf("rank %d init %zu barrier %zu connections %zu\n", upcxx::rank_me(), after_init, after_barrier,
              atl::engine::network_messages::here().connections());
  upcxx::finalize();
}
