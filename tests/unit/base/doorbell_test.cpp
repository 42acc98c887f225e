#include "base/doorbell.hpp"

#include <atomic>
#include <chrono>
#include <random>
#include <thread>

#include <gtest/gtest.h>

namespace atl {
namespace {

constexpr std::int64_t second_ns = 1'000'000'000;

void spin_up_to(unsigned most, std::minstd_rand& random) {
  for (auto n = random() % most; n != 0; --n) std::atomic_signal_fence(std::memory_order_seq_cst);
}

TEST(doorbell, a_sleep_ends_by_itself) {
  doorbell me{};
  sleeper_count sleepers{0};
  for (int i = 0; i < 5; ++i) {
    std::uint32_t const bell = announce(me, sleepers, false);
    EXPECT_EQ(bell & 1U, 1U);
    EXPECT_EQ(sleepers.load(), 1U);
    sleep(me, bell, 1'000'000);
    withdraw(sleepers);
    EXPECT_EQ(sleepers.load(), 0U);
  }
}

TEST(doorbell, does_not_sleep_when_the_bell_rang_after_the_announcement) {
  doorbell me{};
  sleeper_count sleepers{0};
  for (int i = 0; i < 100; ++i) {
    std::uint32_t const bell = announce(me, sleepers, false);
    wake(me);
    sleep(me, bell, 3600 * second_ns);  // returns at once, or this test comes to its limit
    withdraw(sleepers);
  }
}

TEST(doorbell, rings_once_for_each_announcement) {
  doorbell me{};
  sleeper_count sleepers{0};
  wake(me);
  EXPECT_EQ(me.word.load(), 0U);
  announce(me, sleepers, false);
  EXPECT_EQ(me.word.load(), 1U);
  wake(me);
  EXPECT_EQ(me.word.load(), 2U);
  wake(me);
  EXPECT_EQ(me.word.load(), 2U);
  EXPECT_EQ(announce(me, sleepers, false), 3U);
  withdraw(sleepers);
  withdraw(sleepers);
}

// The sender spins until the sleeper has seen the last number, and says the next one up to some microseconds
// later: before, while and after the sleeper announces itself.
// A missed wake-up shows by a bell that has not been rung though the sender is done with it.
TEST(doorbell, misses_no_wake_up_though_senders_do_not_fence) {
  if (!os::join_remote_fences()) GTEST_SKIP() << "no membarrier on this machine";
  // Beside jobs that compute each takes as long as their time slices.
  constexpr std::uint32_t most_rounds = 50'000;
  auto const end = std::chrono::steady_clock::now() + std::chrono::seconds(5);
  std::atomic<bool> enough{false};  // before the last round is seen
  doorbell me{};
  sleeper_count sleepers{0};
  alignas(64) std::atomic<std::uint32_t> said{0};
  alignas(64) std::atomic<std::uint32_t> seen{0};
  alignas(64) std::atomic<std::uint32_t> rung{0};
  std::thread sender([&] {
    std::minstd_rand random(1);
    for (std::uint32_t i = 1;; ++i) {
      for (int spins = 0; seen.load(std::memory_order_acquire) != i - 1; ++spins) {
        if (spins > 10'000) std::this_thread::yield();
      }
      if (enough.load(std::memory_order_relaxed)) break;
      spin_up_to(2'000, random);
      said.store(i, std::memory_order_release);
      wake(me);
      rung.store(i, std::memory_order_release);
    }
  });
  int missed = 0;
  std::minstd_rand random(2);
  for (std::uint32_t i = 1; !enough.load(std::memory_order_relaxed); ++i) {
    spin_up_to(2'000, random);
    while (said.load(std::memory_order_acquire) != i) {
      std::uint32_t const bell = announce(me, sleepers, true);
      if (said.load(std::memory_order_acquire) != i) {
        sleep(me, bell, second_ns);
        // Who was rung for finds the bell rung. The sender may have been kept from it for longer than a sleep.
        if (said.load(std::memory_order_acquire) == i && me.word.load() == bell) {
          while (rung.load(std::memory_order_acquire) != i) std::this_thread::yield();
          if (me.word.load() == bell) ++missed;
        }
      }
      withdraw(sleepers);
    }
    if (i == most_rounds || std::chrono::steady_clock::now() > end)
      enough.store(true, std::memory_order_relaxed);
    seen.store(i, std::memory_order_release);
  }
  sender.join();
  EXPECT_EQ(missed, 0);
  EXPECT_EQ(sleepers.load(), 0U);
}

}  // namespace
}  // namespace atl
