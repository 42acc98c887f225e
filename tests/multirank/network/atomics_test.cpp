// Atomic operations over a network that processors would disturb: it does all of them, also on memory of the own host.

#include <atomic>

#include "../common.hpp"

namespace {

using upcxx::atomic_op;
constexpr auto relaxed = std::memory_order_relaxed;

using network_atomics_test = multirank::fixture;

TEST_F(network_atomics_test, own_memory_goes_the_way_of_all_other) {
  upcxx::atomic_domain<long> domain({atomic_op::fetch_add, atomic_op::load});
  upcxx::atomic_domain<long> of_host({atomic_op::fetch_add}, upcxx::local_team());
  multirank::shared_array<long> cells(2);
  cells.local()[0] = cells.local()[1] = 0;
  upcxx::barrier();
  for (int r = 0; r < n; ++r) {
    upcxx::future<long> const before = domain.fetch_add(cells.at(r), 1, relaxed);
    EXPECT_FALSE(before.is_ready()) << "rank " << r;
    EXPECT_LT(before.wait(), n);
  }
  // One that no rank of another host may use is a matter of processors.
  EXPECT_TRUE(of_host.fetch_add(cells.at(me) + 1, 1, relaxed).is_ready());
  upcxx::barrier();
  EXPECT_EQ(domain.load(cells.at(right), relaxed).wait(), n);
  domain.destroy();
  of_host.destroy();
  EXPECT_EQ(cells.local()[0], n);
}

/// Else the other tests would not notice if processors took part.
TEST_F(network_atomics_test, what_processors_do_meanwhile_is_lost) {
  constexpr long times = 2000;
  upcxx::atomic_domain<long> domain({atomic_op::add});
  multirank::shared_array<long> cells(1);
  // Again where no two of them met, as when a rank had no core.
  for (bool lost = false; !lost;) {
    *cells.local() = 0;
    upcxx::barrier();
    upcxx::promise<> all;
    for (long i = 0; i < times; ++i) {
      domain.add(cells.at(right), 1, relaxed, upcxx::operation_cx::as_promise(all));
      std::atomic_ref(*cells.local()).fetch_add(1);
      upcxx::progress();
    }
    all.finalize().wait();
    upcxx::barrier();
    lost = upcxx::reduce_all(*cells.local() < 2 * times ? 1 : 0, upcxx::op_fast_min).wait() == 1;
  }
  domain.destroy();
}

}  // namespace
