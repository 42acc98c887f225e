#include "memory/host/reservation.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "memory/host/host_heap.hpp"

namespace atl::memory {
namespace {

constexpr std::uint64_t one_mib = std::uint64_t{1} << 20;
constexpr std::uint64_t block = reservation::block_bytes;

/// Memory of `room` bytes; says what was asked for.
struct memory_of {
  std::uint64_t room;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> asked{};

  reservation::taker taker() {
    return [this](std::uint64_t offset, std::uint64_t bytes) -> std::string {
      asked.emplace_back(offset, bytes);
      if (bytes > room) return "only " + std::to_string(room / one_mib) + " MiB are left";
      room -= bytes;
      return {};
    };
  }
};

TEST(reservation, takes_a_block_once_when_it_is_first_needed) {
  memory_of memory{~std::uint64_t{0}};
  reservation heap(block / 2, 100 * block, memory.taker());
  EXPECT_TRUE(memory.asked.empty());
  EXPECT_TRUE(heap.ensure(block / 2, 16));
  EXPECT_TRUE(heap.ensure(block - 16, 16));
  ASSERT_EQ(memory.asked.size(), 1u) << "the second piece is in the same block";
  EXPECT_EQ(memory.asked[0], std::pair(block / 2, block / 2)) << "what is before the range is not its own";
  EXPECT_TRUE(heap.ensure(block - 16, 32));
  ASSERT_EQ(memory.asked.size(), 2u);
  EXPECT_EQ(memory.asked[1], std::pair(block, block));
  EXPECT_EQ(heap.bytes(), block / 2 + block);
}

TEST(reservation, takes_only_what_lies_in_the_range) {
  memory_of memory{~std::uint64_t{0}};
  reservation heap(block, block + 4096, memory.taker());
  EXPECT_TRUE(heap.ensure(block, block + 4096));
  ASSERT_EQ(memory.asked.size(), 1u);
  EXPECT_EQ(memory.asked[0], std::pair(block, block + 4096));
}

TEST(reservation, fills_gaps_without_asking_for_what_is_there) {
  memory_of memory{~std::uint64_t{0}};
  reservation heap(0, 100 * block, memory.taker());
  EXPECT_TRUE(heap.ensure(2 * block, 1));
  EXPECT_TRUE(heap.ensure(0, 4 * block));
  ASSERT_EQ(memory.asked.size(), 3u);
  EXPECT_EQ(memory.asked[1], std::pair(std::uint64_t{0}, 2 * block));
  EXPECT_EQ(memory.asked[2], std::pair(3 * block, block));
}

TEST(reservation, says_what_has_memory_and_takes_none_for_that) {
  memory_of memory{~std::uint64_t{0}};
  reservation heap(block / 2, 100 * block, memory.taker());
  EXPECT_FALSE(heap.backs(block / 2, 1));
  EXPECT_TRUE(memory.asked.empty());
  EXPECT_TRUE(heap.ensure(3 * block, 16));
  EXPECT_TRUE(heap.backs(3 * block, block));
  EXPECT_FALSE(heap.backs(3 * block - 1, 2));
  EXPECT_FALSE(heap.backs(3 * block, block + 1));
  shared_heap of_rank;
  of_rank.initialise(4096, 50 * block, nullptr, memory.taker());
  std::uint64_t const found = of_rank.allocate(100, 16);
  EXPECT_TRUE(of_rank.backed(found, 100));
  EXPECT_FALSE(of_rank.backed(40 * block, 1));
  of_rank.reset();
  EXPECT_FALSE(of_rank.backed(found, 100));
}

TEST(reservation, says_so_while_memory_is_taken) {
  shared_heap heap;
  std::uint64_t first = 0;
  bool said = false;
  // As another thread may ask while this one waits for the system, with the allocator's lock.
  heap.initialise(4096, 50 * block, nullptr, [&](std::uint64_t, std::uint64_t) {
    said = first != 0 && heap.backed(first, 16) && !heap.backed(49 * block, 16);
    return std::string();
  });
  first = heap.allocate(16, 16);
  ASSERT_NE(first, 0u);
  EXPECT_NE(heap.allocate(8 * block, 16), 0u);
  EXPECT_TRUE(said);
  heap.reset();
}

TEST(reservation, asks_seldom_once_the_heap_has_grown) {
  memory_of memory{~std::uint64_t{0}};
  constexpr std::uint64_t blocks = 10000;
  reservation heap(0, blocks * block, memory.taker());
  for (std::uint64_t i = 0; i < blocks; ++i) ASSERT_TRUE(heap.ensure(i * block, block));
  EXPECT_LT(memory.asked.size(), blocks / 20);
  EXPECT_EQ(heap.bytes(), blocks * block);
}

TEST(reservation, gives_up_what_is_ahead_before_it_refuses) {
  memory_of memory{101 * block};
  reservation heap(0, 1000 * block, memory.taker());
  EXPECT_TRUE(heap.ensure(0, 100 * block));
  EXPECT_TRUE(heap.ensure(100 * block, 16)) << "one block is left, though not those ahead of it";
  EXPECT_EQ(heap.refusal(), "");
  EXPECT_FALSE(heap.ensure(101 * block, 16));
  EXPECT_EQ(heap.refusal(), "only 0 MiB are left");
  EXPECT_EQ(heap.bytes(), 101 * block);
  memory.room = 10 * block;
  EXPECT_TRUE(heap.ensure(101 * block, 16));
  EXPECT_EQ(heap.refusal(), "");
}

TEST(shared_heap, want_of_memory_is_want_of_room_and_no_more) {
  memory_of memory{8 * one_mib};
  shared_heap heap;
  heap.initialise(4096, 64ull << 30, nullptr, memory.taker());
  EXPECT_EQ(heap.reserved(), 0u);
  EXPECT_EQ(heap.allocate(1ull << 30, 16), 0u);
  EXPECT_EQ(heap.refusal(), "only 8 MiB are left");
  EXPECT_EQ(heap.used(), 0u);
  std::uint64_t const small = heap.allocate(64, 64);
  EXPECT_NE(small, 0u);
  EXPECT_EQ(heap.refusal(), "");
  std::uint64_t const large = heap.allocate(4 * one_mib, 16);
  EXPECT_NE(large, 0u);
  // What is freed stays, and is used again: of small objects, too, when there is no memory for a slab.
  memory.room = 0;
  EXPECT_TRUE(heap.deallocate(large));
  EXPECT_EQ(heap.allocate(4 * one_mib, 16), large);
  std::uint64_t got = 0;
  while (heap.allocate(512, 16) != 0) ++got;
  EXPECT_GT(got, one_mib / 512);
  EXPECT_LE(heap.used(), heap.reserved());
  heap.reset();
}

TEST(shared_heap, all_of_it_can_be_asked_for) {
  memory_of memory{16 * one_mib};
  shared_heap heap;
  heap.initialise(4096, 32 * one_mib, nullptr, memory.taker());
  EXPECT_EQ(heap.reserve_all(), "only 16 MiB are left");
  memory.room = 64 * one_mib;
  EXPECT_EQ(heap.reserve_all(), "");
  EXPECT_GE(heap.reserved(), heap.size());
  heap.reset();
}

}  // namespace
}  // namespace atl::memory
