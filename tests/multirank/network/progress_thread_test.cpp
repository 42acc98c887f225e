// With ATOLL_PROGRESS_THREAD a rank that computes, and calls nothing of the library, does its part in what others do with its
// memory, and what it has started itself comes to its end. Without it these tests end by their time limit.

#include <atomic>
#include <numeric>
#include <thread>
#include <vector>

#include "../common.hpp"

namespace {

class progress_thread_test : public multirank::fixture {
 protected:
  /// "Computes" until raise() has changed a word of its own memory. An atomic operation does so, since a put that the
  /// other thread carries out would be a race with whoever reads the word meanwhile.
  static void compute_until(long const* word, long value) {
    std::atomic_ref<long> const watched(*const_cast<long*>(word));
    while (watched.load(std::memory_order_acquire) < value) std::this_thread::yield();
  }
  static upcxx::future<> raise(upcxx::atomic_domain<long>& domain, upcxx::global_ptr<long> word) {
    return domain.store(word, 1, std::memory_order_release);
  }
};

TEST_F(progress_thread_test, a_rank_that_computes_serves_puts_gets_and_atomics) {
  for (std::size_t const count : {std::size_t{1}, std::size_t{1000}, std::size_t{300'000}}) {
    multirank::shared_array<long> mine(count + 2);  // data, a counter, a flag
    upcxx::atomic_domain<long> domain({upcxx::atomic_op::fetch_add, upcxx::atomic_op::store});
    std::fill(mine.at(me).local(), mine.at(me).local() + count + 2, 0L);
    static int calls;
    calls = 0;
    upcxx::barrier();
    auto const flag = static_cast<std::ptrdiff_t>(count) + 1;
    if (me == 0) {
      // Before, the other rank may still be in the barrier, whose progress runs calls.
      compute_until(mine.at(0).local() + flag, 1);
      std::vector<long> out(count);
      std::iota(out.begin(), out.end(), 5L);
      std::vector<long> back(count);
      upcxx::rput(out.data(), mine.at(1), count).wait();
      upcxx::rget(mine.at(1), back.data(), count).wait();
      EXPECT_EQ(back, out);
      for (long i = 0; i < 10; ++i) {
        EXPECT_EQ(
            domain.fetch_add(mine.at(1) + static_cast<std::ptrdiff_t>(count), 3, std::memory_order_relaxed)
                .wait(),
            3 * i);
      }
      upcxx::rpc_ff(1, [] { ++calls; });
      raise(domain, mine.at(1) + flag).wait();
    } else if (me == 1) {
      auto const begun = raise(domain, mine.at(0) + flag);
      compute_until(mine.at(1).local() + flag, 1);
      // Calls are for the program's own progress.
      EXPECT_EQ(calls, 0);
      begun.wait();
      multirank::spin_until([] { return calls == 1; });
      EXPECT_EQ(mine.at(1).local()[count], 30);
    }
    upcxx::barrier();
    domain.destroy();
  }
}

/// What was started before is finished without another call of the library: the other rank sees the flag.
TEST_F(progress_thread_test, what_a_rank_has_started_goes_on_while_it_computes) {
  constexpr std::size_t count = 500'000;
  multirank::shared_array<long> mine(count + 1);
  upcxx::atomic_domain<long> domain({upcxx::atomic_op::store});
  mine.at(me).local()[count] = 0;
  upcxx::barrier();
  std::vector<long> const data(count, 7);
  upcxx::future<> done = upcxx::make_future();
  if (me == 0) {
    // Into memory of a rank that computes, too; what it does after them ends both.
    done = upcxx::rput(data.data(), mine.at(1), count);
    done = upcxx::when_all(done, raise(domain, mine.at(1) + static_cast<std::ptrdiff_t>(count)));
    compute_until(mine.at(0).local() + count, 1);
  } else if (me == 1) {
    compute_until(mine.at(1).local() + count, 1);
    raise(domain, mine.at(0) + static_cast<std::ptrdiff_t>(count)).wait();
  }
  done.wait();
  upcxx::barrier();
  if (me == 1) {
    EXPECT_EQ(std::accumulate(mine.at(1).local(), mine.at(1).local() + count, 0L),
              7L * static_cast<long>(count));
  }
  upcxx::barrier();
  domain.destroy();
}

}  // namespace
