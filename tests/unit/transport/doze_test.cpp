#include "transport/shm/doze.hpp"

#include <atomic>
#include <chrono>
#include <memory>
#include <thread>

#include <gtest/gtest.h>

namespace atl::shm {
namespace {

constexpr std::int64_t second_ns = 1'000'000'000;

/// One side of a conversation; what is said is a number.
struct speaker {
  std::unique_ptr<rank_control> control = std::make_unique<rank_control>();
  std::atomic<std::uint32_t> heard{0};

  void hear(std::uint32_t number) {
    heard.store(number, std::memory_order_release);
    wake(*control);
  }
  /// Sleeps as soon as a look finds nothing; counts the sleeps that nobody ended.
  void await(std::uint32_t number, rank_control& first, bool fences, int& late) {
    while (heard.load(std::memory_order_acquire) != number) {
      std::uint32_t const bell = announce(*control, first, fences);
      if (heard.load(std::memory_order_acquire) != number) {
        auto const begin = std::chrono::steady_clock::now();
        sleep(*control, bell, 20 * second_ns);
        if (std::chrono::steady_clock::now() - begin > std::chrono::seconds(19)) ++late;
      }
      withdraw(first);
    }
  }
};

TEST(doze, a_sleep_ends_by_itself) {
  auto const me = std::make_unique<rank_control>();
  for (int i = 0; i < 5; ++i) {
    std::uint32_t const bell = announce(*me, *me, false);
    EXPECT_EQ(bell & 1U, 1U);
    EXPECT_EQ(me->sleepers.load(), 1U);
    sleep(*me, bell, 1'000'000);
    withdraw(*me);
    EXPECT_EQ(me->sleepers.load(), 0U);
  }
}

TEST(doze, does_not_sleep_when_the_bell_rang_after_the_announcement) {
  auto const me = std::make_unique<rank_control>();
  auto const begin = std::chrono::steady_clock::now();
  for (int i = 0; i < 100; ++i) {
    std::uint32_t const bell = announce(*me, *me, false);
    wake(*me);
    sleep(*me, bell, 20 * second_ns);
    withdraw(*me);
  }
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(20));
}

TEST(doze, rings_once_for_each_announcement) {
  auto const me = std::make_unique<rank_control>();
  wake(*me);
  EXPECT_EQ(me->doorbell.load(), 0U);
  announce(*me, *me, false);
  EXPECT_EQ(me->doorbell.load(), 1U);
  wake(*me);
  EXPECT_EQ(me->doorbell.load(), 2U);
  wake(*me);
  EXPECT_EQ(me->doorbell.load(), 2U);
  EXPECT_EQ(announce(*me, *me, false), 3U);
  withdraw(*me);
  withdraw(*me);
}

// Each answer is sent when the other one is just about to sleep. A missed wake-up shows after 20 seconds.
TEST(doze, misses_no_wake_up_though_senders_do_not_fence) {
  if (!os::join_remote_fences()) GTEST_SKIP() << "no membarrier on this machine";
  constexpr std::uint32_t rounds = 20'000;
  auto const first = std::make_unique<rank_control>();
  speaker a;
  speaker b;
  int late_a = 0;
  int late_b = 0;
  std::thread answers([&] {
    for (std::uint32_t i = 1; i <= rounds && late_b == 0; ++i) {
      b.await(i, *first, true, late_b);
      a.hear(i);
    }
  });
  for (std::uint32_t i = 1; i <= rounds && late_a == 0; ++i) {
    b.hear(i);
    a.await(i, *first, true, late_a);
  }
  answers.join();
  EXPECT_EQ(late_a + late_b, 0);
  EXPECT_EQ(first->sleepers.load(), 0U);
}

}  // namespace
}  // namespace atl::shm
