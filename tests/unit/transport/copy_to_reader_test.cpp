#include "transport/shm/copy_to_reader.hpp"

#include <cstddef>
#include <cstring>
#include <vector>

#include <gtest/gtest.h>

namespace atl::shm {
namespace {

TEST(copy_to_reader, nothing_goes_past_the_caches_before_both_ways_are_known) {
  copy_to_reader c;
  EXPECT_FALSE(c.past_caches());
  c.note(false, 50'000);
  EXPECT_FALSE(c.past_caches());
  c.note(true, 2'000);
  EXPECT_TRUE(c.past_caches());
}

TEST(copy_to_reader, between_near_cores_copies_stay_in_the_caches) {
  copy_to_reader c;
  for (int i = 0; i < 100; ++i) {
    c.note(false, 3'000);
    c.note(true, 2'100);
    EXPECT_FALSE(c.past_caches()) << "the writer is faster past them, but its reader is not";
  }
}

TEST(copy_to_reader, a_lost_core_changes_nothing) {
  copy_to_reader c;
  c.note(true, 2'100);
  for (int i = 0; i < 20; ++i) {
    for (int k = 0; k < 10; ++k) c.note(false, 2'000);
    c.note(false, 4'000'000);
    EXPECT_FALSE(c.past_caches());
  }
}

TEST(copy_to_reader, a_slow_first_copy_is_forgotten_with_the_next) {
  copy_to_reader c;
  c.note(false, 4'000'000);
  c.note(true, 2'100);
  EXPECT_TRUE(c.past_caches());
  c.note(false, 2'000);
  EXPECT_FALSE(c.past_caches());
}

TEST(copy_to_reader, follows_ranks_that_move) {
  copy_to_reader c;
  c.note(true, 2'100);
  for (int i = 0; i < 20; ++i) c.note(false, 1'500);
  EXPECT_FALSE(c.past_caches());
  for (int i = 0; i < 20; ++i) c.note(false, 20'000);
  EXPECT_TRUE(c.past_caches());
  for (int i = 0; i < 20; ++i) c.note(false, 1'500);
  EXPECT_FALSE(c.past_caches());
}

TEST(copy_to_reader, both_ways_copy_all_bytes) {
  copy_to_reader c;
  constexpr std::size_t most = 40'000;
  alignas(64) static std::byte target[most + 128];
  std::vector<std::byte> source(most);
  int past = 0;
  for (int round = 0; round < 600; ++round) {
    if (round == 300) {
      for (int i = 0; i < 20; ++i) c.note(false, 100'000'000);  // the rest goes the other way
    }
    std::size_t const bytes = 16'384 + static_cast<std::size_t>(round) * 37;
    std::size_t const at = static_cast<std::size_t>(round) * 8 % 64;  // messages' elements lie anywhere
    for (std::size_t i = 0; i < bytes; ++i)
      source[i] = static_cast<std::byte>(i * 7 + static_cast<std::size_t>(round));
    std::memset(target, 0, sizeof target);
    past += c.past_caches() ? 1 : 0;
    c(target + at, source.data(), bytes);
    ASSERT_EQ(std::memcmp(target + at, source.data(), bytes), 0) << "round " << round;
    ASSERT_EQ(target[at + bytes], std::byte{0}) << "round " << round;
  }
  EXPECT_GT(past, 0);
}

}  // namespace
}  // namespace atl::shm
