// No wake-up is lost: ranks sleep here for an hour unless they are woken (ATOLL_LONGEST_SLEEP), so that one
// that is lost ends the test by its timeout. Ranks are late by up to three times what others wait before they
// sleep, so that messages meet sleepers, ranks about to sleep, and ranks awake.

#include <chrono>
#include <optional>
#include <random>

#include "../common.hpp"

namespace {

using clock_type = std::chrono::steady_clock;

class wakeups_test : public multirank::fixture {
 protected:
  void be_late() {
    auto const until = clock_type::now() + std::chrono::microseconds(delay_(random_));
    while (clock_type::now() < until) {
    }
  }

  /// Until those who wait sleep: nothing can show that they do.
  static void let_others_sleep() {
    auto const until = clock_type::now() + std::chrono::milliseconds(50);
    while (clock_type::now() < until) {
    }
  }

  /// Fewer where more ranks share the cores.
  int rounds(int few_ranks) const { return few_ranks * 4 / (n < 4 ? 4 : n); }

 private:
  std::minstd_rand random_{static_cast<unsigned>(17 + me)};
  std::uniform_int_distribution<int> delay_{0, 600};
};

TEST_F(wakeups_test, replies_wake) {
  for (int round = 0; round < rounds(150); ++round) {
    be_late();
    EXPECT_EQ(upcxx::rpc(
                  right, [](int x) { return x + 1; }, round)
                  .wait(),
              round + 1);
  }
  upcxx::barrier();  // wakes those who wait here, whenever the last one comes
}

TEST_F(wakeups_test, signals_of_puts_wake) {
  static std::optional<upcxx::promise<>> arrived;
  multirank::shared_array<int> cell(1);
  for (int round = 1; round <= rounds(60); ++round) {
    arrived.emplace();
    upcxx::barrier();
    be_late();
    upcxx::rput(round, cell.at(right), upcxx::remote_cx::as_rpc([] { arrived->fulfill_anonymous(1); }));
    arrived->get_future().wait();
    EXPECT_EQ(*cell.local(), round);
    upcxx::barrier();
  }
}

TEST_F(wakeups_test, collectives_wake) {
  upcxx::team half = upcxx::world().split(me % 2, me);
  for (int round = 0; round < rounds(60); ++round) {
    be_late();
    upcxx::barrier();
    be_late();
    EXPECT_EQ(upcxx::reduce_all(round, upcxx::op_fast_max, half).wait(), round);
    be_late();
    EXPECT_EQ(upcxx::broadcast(me, round % n).wait(), round % n);
    be_late();
    upcxx::barrier_async(half).wait();
  }
  half.destroy();
}

// Rank 0 wants to write its line of a barrier again while all others are in, or before, broadcasts of another root.
TEST_F(wakeups_test, those_wake_who_have_read_other_lines) {
  for (int round = 0; round < 5; ++round) {
    upcxx::barrier();
    if (me == n - 1) let_others_sleep();
    for (int i = 0; i < 7; ++i) EXPECT_EQ(upcxx::broadcast(i + me, 1 % n).wait(), i + 1 % n);
    EXPECT_EQ(upcxx::broadcast(round + me, 0).wait(), round);
  }
}

// Senders wait for room while their target computes, then others wait for them.
TEST_F(wakeups_test, full_queues_do_not_sleep) {
  static long sum;
  sum = 0;
  upcxx::barrier();
  std::vector<int> const block(200, 1);
  for (int i = 0; i < 300; ++i) {
    if (i % 50 == 0) be_late();
    upcxx::rpc_ff(
        right, [](upcxx::view<int> v) { sum += v[199]; }, upcxx::make_view(block));
  }
  multirank::spin_until([] { return sum == 300; });
}

// Answers that have left are read from their sender's memory, which rings nobody, and further calls wait until they have been.
TEST_F(wakeups_test, answers_that_are_read_do_not_sleep) {
  constexpr std::size_t bytes = 256 << 10;
  std::vector<upcxx::future<std::vector<char>>> answers;
  if (me != 0) {
    for (int i = 0; i < 20; ++i) {
      answers.push_back(upcxx::rpc(0, [] { return std::vector<char>(bytes, 'a'); }));
    }
    let_others_sleep();
  }
  for (auto const& answer : answers) EXPECT_EQ(answer.wait_reference().size(), bytes);
  upcxx::barrier();
}

}  // namespace
