#include "memory/host/arena.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <sched.h>

namespace atl::memory {
namespace {

constexpr std::size_t arena_bytes = 64 << 10;

struct page_aligned {
  alignas(4096) std::byte bytes[arena_bytes];
};

TEST(arena, buffers_are_aligned_disjoint_and_inside) {
  auto const memory = std::make_unique<page_aligned>();
  arena a(memory->bytes, arena_bytes);
  std::vector<std::pair<std::uint64_t, std::size_t>> taken;
  for (std::size_t alignment = 64; alignment <= 4096; alignment *= 2) {
    for (std::size_t const size : {std::size_t{1}, std::size_t{64}, std::size_t{1000}}) {
      std::uint64_t const b = a.take(size, alignment);
      ASSERT_NE(b, arena::npos);
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(a.address(b)) % alignment, 0U);
      EXPECT_GE(b, block_flag_bytes);
      EXPECT_LE(b + size, arena_bytes);
      for (auto const& [other, bytes] : taken) {
        EXPECT_TRUE(b >= other + bytes + block_flag_bytes || other >= b + size + block_flag_bytes)
            << "buffers, or a buffer and the flag of another, overlap";
      }
      taken.emplace_back(b, size);
    }
  }
  EXPECT_FALSE(a.idle());
  for (auto const& [b, bytes] : taken) arena::hand_back(a.address(b));
  EXPECT_TRUE(a.idle());
}

TEST(arena, ends_and_is_whole_again_after_any_order_of_hand_back) {
  auto const memory = std::make_unique<page_aligned>();
  arena a(memory->bytes, arena_bytes);
  for (int round = 0; round < 200; ++round) {
    std::vector<std::uint64_t> held;
    for (std::size_t size = 100;; size = 100 + size * 7 % 5000) {
      std::uint64_t const b = a.take(size, 64);
      if (b == arena::npos) break;
      held.push_back(b);
    }
    ASSERT_GT(held.size(), 5U);
    while (!held.empty()) {
      std::size_t const which = static_cast<std::size_t>(round) * 31 % held.size();
      arena::hand_back(a.address(held[which]));
      held.erase(held.begin() + static_cast<std::ptrdiff_t>(which));
    }
    std::uint64_t const whole = a.take(arena_bytes - 4096, 64);
    ASSERT_NE(whole, arena::npos) << "round " << round << ": fragments are left";
    arena::hand_back(a.address(whole));
  }
}

TEST(arena, large_buffers_rest_before_they_are_used_again) {
  constexpr std::size_t bytes = 1 << 20;
  std::vector<page_aligned> room(bytes / sizeof(page_aligned));
  arena a(room[0].bytes, bytes);
  std::vector<std::uint64_t> taken;
  for (int i = 0; i < 100; ++i) {
    taken.push_back(a.take(resting_from, 64));
    ASSERT_NE(taken.back(), arena::npos);
    arena::hand_back(a.address(taken.back()));
  }
  // Where each was last: at least a quarter of the memory has been used since.
  for (std::size_t i = 0; i < taken.size(); ++i) {
    for (std::size_t k = i + 1; k < std::min(taken.size(), i + bytes / 4 / resting_from); ++k) {
      EXPECT_NE(taken[i], taken[k]) << "after " << k - i << " others";
    }
  }
  EXPECT_LE(*std::max_element(taken.begin(), taken.end()), bytes / 2) << "all of the memory has been touched";

  // Small ones are used again at once.
  std::uint64_t const small = a.take(1000, 64);
  arena::hand_back(a.address(small));
  EXPECT_EQ(a.take(1000, 64), small);
}

TEST(arena, ranks_that_share_cores_use_the_same_block_again) {
  constexpr std::size_t bytes = 1 << 20;
  std::vector<page_aligned> room(bytes / sizeof(page_aligned));
  arena a(room[0].bytes, bytes, nullptr, arena::rest::no);
  EXPECT_FALSE(a.rests(bytes / 2));
  std::uint64_t const first = a.take(resting_from, 64);
  arena::hand_back(a.address(first));
  EXPECT_EQ(a.take(resting_from, 64), first);
}

TEST(arena, staging_rests_too) {
  constexpr std::size_t bytes = 1 << 20;
  std::vector<page_aligned> room(bytes / sizeof(page_aligned));
  arena a(room[0].bytes, bytes);
  EXPECT_TRUE(a.rests(resting_from));
  EXPECT_FALSE(a.rests(resting_from - 1));
  std::uint64_t const first = a.reserve(resting_from);
  a.unreserve(first);
  for (std::size_t used = 0; used < bytes / 4; used += resting_from) {
    std::uint64_t const next = a.reserve(resting_from);
    EXPECT_NE(next, first) << "after " << used << " bytes";
    a.unreserve(next);
  }
}

TEST(arena, who_asks_over_and_over_sees_all_in_the_end) {
  auto const memory = std::make_unique<page_aligned>();
  arena a(memory->bytes, arena_bytes);
  std::vector<std::uint64_t> held;
  for (std::uint64_t b; (b = a.take(1000, 64)) != arena::npos;) held.push_back(b);
  ASSERT_GT(held.size(), 30U);
  for (std::size_t const freed : {held.size() - 1, std::size_t{0}, held.size() / 2}) {
    arena::hand_back(a.address(held[freed]));
    std::uint64_t again = arena::npos;
    std::size_t looks = 0;
    while (again == arena::npos && ++looks <= held.size()) again = a.take(1000, 64, 0, arena::effort::few);
    EXPECT_EQ(again, held[freed]);
    EXPECT_LE(looks, held.size() / 4) << "a look sees several";
  }
  arena::hand_back(a.address(held[5]));
  EXPECT_EQ(a.take(1000, 64), held[5]) << "who asks once sees all at once";
}

TEST(arena, rest_ends_when_memory_is_wanted) {
  constexpr std::size_t bytes = 1 << 20;
  std::vector<page_aligned> room(bytes / sizeof(page_aligned));
  arena a(room[0].bytes, bytes);
  for (int round = 0; round < 50; ++round) {
    std::uint64_t const part = a.take(bytes / 5, 64, 0);
    ASSERT_NE(part, arena::npos);
    arena::hand_back(a.address(part));
    // What rests is nobody's: another reader may have all.
    std::uint64_t const whole = a.take(bytes - 4096, 64, 1);
    ASSERT_NE(whole, arena::npos) << "round " << round;
    arena::hand_back(a.address(whole));
    std::uint64_t const reserved = a.reserve(bytes / 2);
    ASSERT_NE(reserved, arena::npos) << "round " << round;
    a.unreserve(reserved);
  }
}

TEST(arena, half_may_be_reserved_after_reservations_of_odd_sizes) {
  auto const memory = std::make_unique<page_aligned>();
  arena a(memory->bytes, arena_bytes);
  for (std::size_t bytes = 1; bytes < 3000; bytes += 7) {
    std::uint64_t const block = a.reserve(bytes);
    ASSERT_NE(block, arena::npos) << "of " << bytes << " bytes";
    a.unreserve(block);
  }
  std::uint64_t const half = a.reserve(arena_bytes / 2);
  ASSERT_NE(half, arena::npos);
  EXPECT_EQ(a.reserve(64), arena::npos);
  a.unreserve(half);
}

TEST(arena, another_thread_hands_back) {
  auto const memory = std::make_unique<page_aligned>();
  arena a(memory->bytes, arena_bytes);
  constexpr int count = 20'000;
  std::atomic<std::uint64_t> mailbox{arena::npos};
  std::thread reader([&] {
    for (int i = 0; i < count; ++i) {
      std::uint64_t b;
      while ((b = mailbox.exchange(arena::npos, std::memory_order_acquire)) == arena::npos) sched_yield();
      std::byte* const buffer = a.address(b);
      EXPECT_EQ(buffer[0], static_cast<std::byte>(i));
      EXPECT_EQ(buffer[999], static_cast<std::byte>(i));
      arena::hand_back(buffer);
    }
  });
  for (int i = 0; i < count; ++i) {
    std::uint64_t b;
    while ((b = a.take(1000, 64)) == arena::npos) sched_yield();
    std::memset(a.address(b), i, 1000);
    while (mailbox.load(std::memory_order_relaxed) != arena::npos) sched_yield();
    mailbox.store(b, std::memory_order_release);
  }
  reader.join();
  EXPECT_TRUE(a.idle());
}

}  // namespace
}  // namespace atl::memory
