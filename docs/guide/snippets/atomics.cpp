// Snippets of the page on atomics.
#include <atomic>
#include <cstdint>

#include <upcxx/upcxx.hpp>

int main() {
  upcxx::init();
  int const me = upcxx::rank_me();
  int const ranks = upcxx::rank_n();

  // [domain]
  upcxx::atomic_domain<std::int64_t> counters({upcxx::atomic_op::fetch_add,
                                               upcxx::atomic_op::load,
                                               upcxx::atomic_op::compare_exchange});
  // [/domain]
  upcxx::global_ptr<std::int64_t> counter =
      me == 0 ? upcxx::new_<std::int64_t>(0) : nullptr;
  counter = upcxx::broadcast(counter, 0).wait();

  // [ticket]
  std::int64_t const ticket =
      counters.fetch_add(counter, 1, std::memory_order_relaxed).wait();
  // [/ticket]
  UPCXX_ASSERT_ALWAYS(ticket >= 0 && ticket < ranks);
  upcxx::barrier();

  // [load]
  std::int64_t const handed_out =
      counters.load(counter, std::memory_order_relaxed).wait();
  // [/load]
  UPCXX_ASSERT_ALWAYS(handed_out == ranks);
  upcxx::barrier();

  // [exchange]
  bool const won =
      counters.compare_exchange(counter, ranks, -1, std::memory_order_acq_rel)
          .wait() == ranks;
  // [/exchange]
  UPCXX_ASSERT_ALWAYS(upcxx::reduce_all(won ? 1 : 0, upcxx::op_fast_add).wait() ==
                      1);

  // [destroy]
  upcxx::barrier();
  counters.destroy();  // collective, before finalize
  // [/destroy]
  if (me == 0) upcxx::delete_(counter);
  upcxx::finalize();
}
