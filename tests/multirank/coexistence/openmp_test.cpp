// OpenMP in the ranks: in thread mode seq the threads hand their communication to the thread that called
// init; in par they communicate themselves.

#include <gtest/gtest.h>
#include <omp.h>

#include <atomic>
#include <upcxx/upcxx.hpp>
#include <vector>

namespace {

constexpr int threads = 3;
constexpr int each = 50;

int next() { return (upcxx::rank_me() + 1) % upcxx::rank_n(); }

std::atomic<int> calls{0};

TEST(openmp, funnels_calls_through_the_master_persona) {
  calls = 0;
  upcxx::barrier();
  std::atomic<int> finished{0};
#pragma omp parallel num_threads(threads)
  {
#pragma omp for
    for (int i = 0; i < threads * each; ++i) {
      upcxx::master_persona().lpc_ff([] { upcxx::rpc_ff(next(), [] { ++calls; }); });
    }
    ++finished;
    // No thread may sleep in the barrier at the end while its rank owes progress.
    if (omp_get_thread_num() == 0) {
      while (finished < threads || calls < threads * each) upcxx::progress();
    }
  }
  upcxx::barrier();
  EXPECT_EQ(calls, threads * each);
}

TEST(openmp, waits_in_each_thread_on_its_own_persona) {
  std::atomic<int> finished{0};
  std::atomic<long> sum{0};
#pragma omp parallel num_threads(threads)
  {
    upcxx::persona& mine = upcxx::default_persona();
    for (int i = 0; i < each; ++i) {
      // Computed by the master, delivered here.
      if (omp_get_thread_num() == 0) {
        sum += i;
      } else {
        bool there = false;
        upcxx::master_persona().lpc_ff([&mine, &there, &sum, i] {
          mine.lpc_ff([&there, &sum, i] {
            sum += i;
            there = true;
          });
        });
        while (!there) upcxx::progress();
      }
    }
    ++finished;
    if (omp_get_thread_num() == 0) {
      while (finished < threads) upcxx::progress();
    }
  }
  upcxx::barrier();
  EXPECT_EQ(sum, threads * (each * (each - 1) / 2));
}

#ifdef UPCXX_THREADMODE
TEST(openmp, threads_communicate_themselves) {
  upcxx::dist_object<upcxx::global_ptr<int>> slots(upcxx::new_array<int>(threads * each));
  auto const there = slots.fetch(next()).wait();
  std::atomic<int> finished{0};
  std::atomic<int> wrong{0};
#pragma omp parallel num_threads(threads)
  {
    int const first = omp_get_thread_num() * each;
    for (int i = first; i < first + each; ++i) {
      upcxx::rput(i, there + i).wait();
      if (upcxx::rget(there + i).wait() != i) ++wrong;
      if (upcxx::rpc(
              next(), [](int x) { return x + 1; }, i)
              .wait() != i + 1)
        ++wrong;
    }
    ++finished;
    if (omp_get_thread_num() == 0) {
      while (finished < threads) upcxx::progress();
    }
  }
  upcxx::barrier();
  EXPECT_EQ(wrong, 0);
  for (int i = 0; i < threads * each; ++i) EXPECT_EQ((*slots).local()[i], i);
  upcxx::barrier();
  upcxx::delete_array(*slots);
}
#endif

}  // namespace
