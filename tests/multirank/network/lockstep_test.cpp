// In lockstep a rank waits for its turn inside each poll. Its other threads must get on all the same.

#include <atomic>
#include <cstddef>
#include <thread>
#include <vector>

#include "../common.hpp"

namespace {

using lockstep_test = multirank::fixture;

TEST_F(lockstep_test, threads_send_beside_one_that_polls_all_the_time) {
  constexpr int senders = 3;
  constexpr long rounds = 100;
  constexpr std::size_t words = 1000;
  multirank::shared_array<long> mine(senders * words);
  upcxx::barrier();
  std::atomic<int> busy{senders};
  std::vector<std::thread> threads;
  for (int t = 0; t < senders; ++t) {
    threads.emplace_back([&, place = mine.at(right) + t * static_cast<std::ptrdiff_t>(words)] {
      std::vector<long> back(words);
      for (long i = 0; i < rounds; ++i) {
        std::vector<long> const out(words, i);
        upcxx::rput(out.data(), place, words).wait();
        upcxx::rget(place, back.data(), words).wait();
        EXPECT_EQ(back, out);
        EXPECT_EQ(upcxx::rpc(
                      right, [](long value) { return value + 1; }, i)
                      .wait(),
                  i + 1);
      }
      --busy;
    });
  }
  while (upcxx::reduce_all(busy.load(), upcxx::op_fast_add).wait() != 0) {
    for (int i = 0; i < 20; ++i) upcxx::progress();
  }
  for (std::thread& t : threads) t.join();
  upcxx::barrier();
}

}  // namespace
