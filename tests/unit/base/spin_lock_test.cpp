#include "base/spin_lock.hpp"

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

TEST(recursive_spin_lock, excludes_threads) {
  recursive_spin_lock lock;
  int counter = 0;  // plain: ThreadSanitizer and the sum tell
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 5000; ++i) {
        std::lock_guard const outer(lock);
        std::lock_guard const inner(lock);
        ++counter;
      }
    });
  }
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(counter, 20'000);
}

}  // namespace
}  // namespace atl
