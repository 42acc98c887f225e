#include "transport/shm/doze.hpp"

#include <atomic>
#include <chrono>
#include <memory>
#include <thread>

#include <gtest/gtest.h>
#include <sched.h>

namespace atl::shm {
namespace {

TEST(doze, ends_by_itself_and_leaves_no_flag_up) {
  auto const me = std::make_unique<rank_control>();
  int looks = 0;
  for (int i = 0; i < 5; ++i) {
    doze(*me, *me, [&] { return ++looks, true; });
    EXPECT_EQ(me->sleeping.load(), 0U);
    EXPECT_EQ(me->sleepers.load(), 0U);
  }
  EXPECT_EQ(looks, 5);
}

TEST(doze, does_not_sleep_when_something_has_come) {
  auto const me = std::make_unique<rank_control>();
  auto const begin = std::chrono::steady_clock::now();
  for (int i = 0; i < 1000; ++i) doze(*me, *me, [] { return false; });
  // A thousand sleeps would take a second.
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::milliseconds(500));
}

TEST(doze, wake_leaves_those_awake_alone) {
  auto const me = std::make_unique<rank_control>();
  wake(*me);
  EXPECT_EQ(me->doorbell.load(), 0U);
  me->sleeping.store(1);
  wake(*me);
  EXPECT_EQ(me->doorbell.load(), 1U);
}

TEST(doze, a_stream_of_wake_ups_arrives_even_where_one_is_missed) {
  auto const me = std::make_unique<rank_control>();
  auto const first = std::make_unique<rank_control>();
  constexpr std::uint32_t count = 2000;
  std::atomic<std::uint32_t> published{0};
  std::thread sender([&] {
    for (std::uint32_t i = 1; i <= count; ++i) {
      published.store(i, std::memory_order_release);
      wake(*me);
      if (i % 16 == 0) sched_yield();  // lets the other one fall asleep now and then
    }
  });
  std::uint32_t seen = 0;
  while (seen < count) {
    std::uint32_t const now = published.load(std::memory_order_acquire);
    if (now != seen) {
      seen = now;
    } else {
      doze(*me, *first, [&] { return published.load(std::memory_order_acquire) == seen; });
    }
  }
  sender.join();
  EXPECT_EQ(me->sleeping.load(), 0U);
  EXPECT_EQ(first->sleepers.load(), 0U);
}

}  // namespace
}  // namespace atl::shm
