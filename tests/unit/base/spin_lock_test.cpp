#include "base/spin_lock.hpp"

#include <atomic>
#include <mutex>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace atl {
namespace {

TEST(recursive_spin_lock, owner_enters_again_others_do_not) {
  recursive_spin_lock lock;
  auto const free_for_others = [&] {
    bool got = false;
    std::thread([&] {
      got = lock.try_lock();
      if (got) lock.unlock();
    }).join();
    return got;
  };
  EXPECT_TRUE(free_for_others());
  lock.lock();
  EXPECT_TRUE(lock.try_lock());
  EXPECT_FALSE(free_for_others());
  lock.unlock();
  EXPECT_FALSE(free_for_others()) << "one level is still held";
  lock.unlock();
  EXPECT_TRUE(free_for_others());
}

template <class Lock>
class any_spin_lock : public testing::Test {};
using spin_locks = testing::Types<spin_lock, recursive_spin_lock>;
TYPED_TEST_SUITE(any_spin_lock, spin_locks);

TYPED_TEST(any_spin_lock, excludes_threads) {
  TypeParam lock;
  int counter = 0;  // plain: ThreadSanitizer and the sum tell
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 5000; ++i) {
        std::lock_guard const held(lock);
        ++counter;
      }
    });
  }
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(counter, 20'000);
}

// Though the lock is let go for a moment only, as by who polls all the time.
TEST(recursive_spin_lock, who_waits_has_its_turn) {
  recursive_spin_lock lock;
  for (int round = 0; round < 100; ++round) {
    std::atomic<bool> had{false};
    lock.lock();
    std::thread waiter([&] {
      std::lock_guard const held(lock);
      had = true;
    });
    while (!lock.wanted()) std::this_thread::yield();
    lock.unlock();
    int passed_by = 0;
    while (!had && passed_by < 1000) {
      if (!lock.try_lock_in_turn()) {
        std::this_thread::yield();
        continue;
      }
      if (!had) ++passed_by;
      for (int i = 0; i < 20; ++i) std::this_thread::yield();
      lock.unlock();
    }
    waiter.join();
    EXPECT_LE(passed_by, 1);
  }
}

}  // namespace
}  // namespace atl
