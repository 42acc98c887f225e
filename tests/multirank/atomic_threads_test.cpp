// Atomics and transfers from several threads of each rank (thread mode par).

#include <thread>

#include "common.hpp"

using atomic_threads_test = multirank::fixture;

TEST_F(atomic_threads_test, any_thread_may_use_a_domain_and_is_notified_itself) {
  using upcxx::atomic_op;
  constexpr int threads = 3;
  constexpr int rounds = 400;
  upcxx::atomic_domain<long> domain({atomic_op::fetch_inc, atomic_op::add, atomic_op::load});
  multirank::shared_array<long> cells(2);
  multirank::shared_array<long> slots(static_cast<std::size_t>(threads * n));
  cells.local()[0] = cells.local()[1] = 0;
  upcxx::barrier();
  std::vector<long> sums(threads);
  std::vector<std::thread> workers;
  for (int t = 0; t < threads; ++t) {
    workers.emplace_back([&, t] {
      long sum = 0;
      int called = 0;
      for (int i = 0; i < rounds; ++i) {
        // Deferred, so that this thread's own progress delivers.
        sum +=
            domain.fetch_inc(cells.at(0), std::memory_order_relaxed, upcxx::operation_cx::as_defer_future())
                .wait();
        domain.add(cells.at(0) + 1, 2, std::memory_order_relaxed,
                   upcxx::operation_cx::as_lpc(upcxx::current_persona(), [&] { ++called; }));
      }
      multirank::spin_until([&] { return called == rounds; });
      sums[static_cast<std::size_t>(t)] = sum;
      upcxx::rput_strided<1>(&sum, {{8}}, slots.at(right) + (me * threads + t), {{8}}, {{1}}).wait();
    });
  }
  for (auto& w : workers) w.join();
  upcxx::barrier();
  long total = 0;
  for (long const sum : sums) total += sum;
  long const all = static_cast<long>(threads) * rounds * n;
  EXPECT_EQ(upcxx::reduce_all(total, upcxx::op_fast_add).wait(), all * (all - 1) / 2);
  EXPECT_EQ(domain.load(cells.at(0), std::memory_order_relaxed).wait(), all);
  EXPECT_EQ(domain.load(cells.at(0) + 1, std::memory_order_relaxed).wait(), 2 * all);
  long arrived = 0;
  for (int t = 0; t < threads; ++t) arrived += slots.local()[left * threads + t];
  EXPECT_EQ(upcxx::reduce_all(arrived, upcxx::op_fast_add).wait(), all * (all - 1) / 2);
  domain.destroy();
}

TEST_F(atomic_threads_test, floods_of_several_threads_with_a_promise_each) {
  using upcxx::operation_cx;
  constexpr int threads = 3;
  constexpr int rounds = 5;
  constexpr long count = 400;
  upcxx::atomic_domain<long> domain({upcxx::atomic_op::fetch_add, upcxx::atomic_op::load});
  multirank::shared_array<long> words(static_cast<std::size_t>(threads * count + 1));
  words.local()[threads * count] = 0;
  upcxx::barrier();
  std::vector<long> sums(threads);
  std::vector<std::thread> workers;
  for (int t = 0; t < threads; ++t) {
    workers.emplace_back([&, t] {
      std::vector<long> before(static_cast<std::size_t>(count));
      for (int round = 0; round < rounds; ++round) {
        upcxx::promise<> all;
        for (long i = 0; i < count; ++i) {
          upcxx::rput(me + round + i, words.at(right) + t * count + i, operation_cx::as_promise(all));
        }
        for (long& each : before) {
          domain.fetch_add(words.at(right) + threads * count, 1, &each, std::memory_order_relaxed,
                           operation_cx::as_promise(all));
        }
        all.finalize().wait();
        for (long const each : before) sums[static_cast<std::size_t>(t)] += each;
      }
    });
  }
  for (auto& w : workers) w.join();
  upcxx::barrier();
  long total = 0;
  for (long const sum : sums) total += sum;
  constexpr long all = long{threads} * rounds * count;
  EXPECT_EQ(total, all * (all - 1) / 2);
  for (long i = 0; i < threads * count; ++i) {
    ASSERT_EQ(words.local()[i], left + rounds - 1 + i % count) << i;
  }
  EXPECT_EQ(words.local()[threads * count], all);
  upcxx::barrier();
  domain.destroy();
}

TEST_F(atomic_threads_test, a_promise_is_fulfilled_for_the_persona_that_was_current) {
  multirank::shared_array<long> words(12);
  auto const put = [&](std::ptrdiff_t at, upcxx::promise<> const& all) {
    upcxx::rput(1L, words.at(right) + at, upcxx::operation_cx::as_promise(all));
  };
  upcxx::persona second;
  upcxx::promise<> mine;
  put(0, mine);
  put(1, mine);
  upcxx::future<> theirs;
  {
    upcxx::persona_scope const scope(second);
    upcxx::promise<> all;
    for (int i = 2; i < 10; ++i) put(i, all);
    theirs = all.finalize();
  }
  put(10, mine);
  mine.finalize().wait();
  {
    upcxx::persona_scope const scope(second);
    theirs.wait();
  }
  upcxx::barrier();
  for (int i = 0; i <= 10; ++i) EXPECT_EQ(words.local()[i], 1);
  upcxx::barrier();
}
