#include "transport/message_pool.hpp"

#include <cstring>
#include <set>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace atl::transport {
namespace {

TEST(message_pool, room_is_as_asked_for_and_aligned) {
  for (std::size_t const bytes : {0, 1, 64, 65, 256, 257, 2048}) {
    message* const m = take_message(bytes);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(m->base) % buffer_alignment, 0U);
    EXPECT_GE(pooled_room[m->size_class], bytes);
    EXPECT_EQ(m->next, nullptr);
    EXPECT_FALSE(m->charged);
    std::memset(m->base, 0xab, bytes);
    return_message(m);
  }
}

TEST(message_pool, returned_blocks_are_used_again) {
  message* const first = take_message(10);
  return_message(first);
  message* const second = take_message(20);
  EXPECT_EQ(first, second);
  return_message(second);
}

TEST(message_pool, a_flood_of_small_ones_is_kept) {
  constexpr std::size_t count = 12000;
  std::vector<message*> all;
  for (std::size_t i = 0; i < count; ++i) all.push_back(take_message(16));
  for (message* m : all) return_message(m);
  std::size_t kept = 0;
  for (message* m = pool::lists.head[0]; m != nullptr; m = static_cast<message*>(m->next)) ++kept;
  EXPECT_GE(kept, count);
}

TEST(message_pool, blocks_in_use_are_distinct) {
  std::set<message*> all;
  for (int i = 0; i < 10'000; ++i) all.insert(take_message(static_cast<std::size_t>(i) % 2049));
  EXPECT_EQ(all.size(), 10'000U);
  for (message* const m : all) return_message(m);  // more than the lists keep
}

TEST(message_pool, blocks_may_be_returned_on_another_thread) {
  for (int round = 0; round < 20; ++round) {
    std::vector<message*> taken;
    std::thread taker([&] {
      for (int i = 0; i < 1000; ++i) taken.push_back(take_message(100));
    });
    taker.join();
    std::thread([&] {
      for (message* const m : taken) return_message(m);
    }).join();
  }
}

}  // namespace
}  // namespace atl::transport
