#include "memory/segment_allocator.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <random>
#include <thread>
#include <vector>

#include "memory/host/host_heap.hpp"

namespace atl::memory {
namespace {

constexpr std::uint64_t npos = segment_allocator::npos;
constexpr std::uint64_t kib = 1024;
constexpr std::uint64_t mib = 1024 * kib;

/// Allocations as a plain map, against which the allocator is checked.
class model {
 public:
  explicit model(segment_allocator& heap, std::uint64_t first) : heap_(heap), first_(first) {}

  bool allocate(std::uint64_t size, std::uint64_t alignment) {
    std::uint64_t const offset = heap_.allocate(size, alignment);
    if (offset == npos) return false;
    std::uint64_t const usable = heap_.size_of(offset);
    EXPECT_GE(usable, std::max<std::uint64_t>(size, 1));
    EXPECT_EQ(offset % alignment, 0u);
    EXPECT_GE(offset, first_);
    EXPECT_LE(offset + usable, (first_ + 15) / 16 * 16 + heap_.capacity());
    auto const next = live_.lower_bound(offset);
    if (next != live_.end()) {
      EXPECT_LE(offset + usable, next->first);
    }
    if (next != live_.begin()) {
      EXPECT_LE(std::prev(next)->first + std::prev(next)->second, offset);
    }
    live_[offset] = usable;
    used_ += usable;
    EXPECT_EQ(heap_.bytes_used(), used_);
    EXPECT_TRUE(heap_.covers(offset, usable));
    EXPECT_FALSE(heap_.covers(offset, usable + 1));
    return true;
  }

  void deallocate_nth(std::size_t n) {
    auto victim = live_.begin();
    std::advance(victim, static_cast<std::ptrdiff_t>(n % live_.size()));
    std::uint64_t const offset = victim->first;
    used_ -= victim->second;
    EXPECT_FALSE(heap_.deallocate(offset + 1));
    EXPECT_TRUE(heap_.deallocate(offset));
    EXPECT_FALSE(heap_.deallocate(offset));
    EXPECT_EQ(heap_.size_of(offset), 0u);
    EXPECT_FALSE(heap_.covers(offset, 1));
    live_.erase(victim);
    EXPECT_EQ(heap_.bytes_used(), used_);
  }

  [[nodiscard]] std::size_t count() const { return live_.size(); }

 private:
  segment_allocator& heap_;
  std::uint64_t first_;
  std::map<std::uint64_t, std::uint64_t> live_;
  std::uint64_t used_ = 0;
};

/// Where a block was lies another one, of which something else keeps the record.
TEST(segment_allocator, ranges_are_of_the_block_that_is_there_now) {
  segment_allocator heap(0, 8 * mib);
  std::uint64_t const before = heap.allocate(mib);
  std::uint64_t const block = heap.allocate(mib);
  std::uint64_t const behind = heap.allocate(mib);
  ASSERT_NE(heap.allocate(mib), npos);
  EXPECT_TRUE(heap.covers(block, mib));
  heap.deallocate(before);
  heap.deallocate(behind);
  heap.deallocate(block);
  ASSERT_EQ(heap.allocate(mib), before);
  ASSERT_EQ(heap.allocate(2 * mib), block);
  EXPECT_TRUE(heap.covers(block, 2 * mib));
}

struct range {
  std::uint64_t first;
  std::uint64_t capacity;
};

class segment_allocator_model_test : public testing::TestWithParam<range> {};

TEST_P(segment_allocator_model_test, random_traffic_never_overlaps_and_recovers_fully) {
  auto const [first, capacity] = GetParam();
  for (unsigned seed = 1; seed <= 3; ++seed) {
    segment_allocator heap(first, capacity);
    std::uint64_t const whole = heap.largest_free();
    EXPECT_EQ(whole, heap.capacity());
    model check(heap, first);
    std::mt19937_64 random(seed);
    std::size_t refused = 0;
    for (int step = 0; step < 6000; ++step) {
      // Phases of growing and shrinking, so that exhaustion and near emptiness both happen.
      bool const grow = random() % 100 < (step / 1000 % 2 == 0 ? 70u : 35u);
      if (grow || check.count() == 0) {
        std::uint64_t const scale = random() % 100;
        std::uint64_t const size = scale < 60   ? random() % 1100
                                   : scale < 95 ? random() % (capacity / 64)
                                                : random() % (capacity / 4);
        std::uint64_t const alignment = random() % 4 == 0 ? std::uint64_t{1} << random() % 17 : 16;
        if (!check.allocate(size, alignment)) ++refused;
      } else {
        check.deallocate_nth(random());
      }
    }
    EXPECT_GT(refused, 0u) << "exhaustion was not exercised";
    while (check.count() > 0) check.deallocate_nth(random());
    EXPECT_EQ(heap.bytes_used(), 0u);
    EXPECT_EQ(heap.largest_free(), whole);
    EXPECT_EQ(heap.allocate(whole), (first + 15) / 16 * 16);
  }
}

INSTANTIATE_TEST_SUITE_P(ranges, segment_allocator_model_test,
                         testing::Values(range{0, 64 * kib}, range{0, 4 * mib}, range{12345, 3 * mib + 77},
                                         range{0x7f00'0000'1000, 16 * mib}));

TEST(segment_allocator, whole_capacity_can_be_one_allocation) {
  for (std::uint64_t const capacity : {16 * kib, mib, 128 * mib + 48, std::uint64_t{80} << 30}) {
    segment_allocator heap(0, capacity);
    EXPECT_EQ(heap.capacity(), capacity);
    EXPECT_EQ(heap.allocate(capacity + 1), npos);
    EXPECT_EQ(heap.allocate(capacity), 0u);
    EXPECT_EQ(heap.largest_free(), 0u);
    EXPECT_EQ(heap.allocate(0), npos);
    EXPECT_EQ(heap.bytes_used(), capacity);
    EXPECT_TRUE(heap.deallocate(0));
    EXPECT_EQ(heap.largest_free(), capacity);
  }
}

TEST(segment_allocator, largest_free_can_be_allocated) {
  segment_allocator heap(0, 8 * mib);
  std::mt19937_64 random(7);
  std::vector<std::uint64_t> live;
  for (int i = 0; i < 500; ++i) {
    if (std::uint64_t const p = heap.allocate(random() % 40000); p != npos) live.push_back(p);
  }
  for (std::size_t i = 0; i < live.size(); i += 2) heap.deallocate(live[i]);
  std::uint64_t const largest = heap.largest_free();
  EXPECT_EQ(heap.allocate(largest + 1), npos);
  EXPECT_NE(heap.allocate(largest), npos);
}

TEST(segment_allocator, zero_bytes_are_distinct_allocations) {
  segment_allocator heap(0, mib);
  std::uint64_t const a = heap.allocate(0);
  std::uint64_t const b = heap.allocate(0);
  EXPECT_NE(a, npos);
  EXPECT_NE(a, b);
  EXPECT_EQ(heap.size_of(a), segment_allocator::granule);
  EXPECT_TRUE(heap.deallocate(a));
  EXPECT_TRUE(heap.deallocate(b));
}

TEST(segment_allocator, any_power_of_two_aligns) {
  for (std::uint64_t const first : {std::uint64_t{0}, std::uint64_t{4096}, std::uint64_t{1} << 40}) {
    segment_allocator heap(first, 64 * mib);
    for (std::uint64_t alignment = 1; alignment <= 32 * mib; alignment *= 2) {
      for (std::uint64_t const size : {1u, 24u, 1000u, 5000u}) {
        std::uint64_t const p = heap.allocate(size, alignment);
        ASSERT_NE(p, npos) << alignment;
        EXPECT_EQ(p % alignment, 0u);
        EXPECT_TRUE(heap.deallocate(p));
      }
    }
    EXPECT_EQ(heap.largest_free(), 64 * mib);
  }
}

TEST(segment_allocator, capacity_as_alignment_finds_the_one_place) {
  segment_allocator heap(0, 4 * mib);
  std::uint64_t const p = heap.allocate(64, 4 * mib);
  EXPECT_EQ(p, 0u);
  EXPECT_EQ(heap.allocate(64, 4 * mib), npos);
  EXPECT_NE(heap.allocate(64, 2 * mib), npos);
}

TEST(segment_allocator, what_is_no_power_of_two_is_refused) {
  segment_allocator heap(0, mib);
  EXPECT_EQ(heap.allocate(16, 0), npos);
  EXPECT_EQ(heap.allocate(16, 24), npos);
}

TEST(segment_allocator, sizes_near_the_end_of_the_type_are_refused) {
  segment_allocator heap(~std::uint64_t{0} - 2 * mib, mib);
  EXPECT_EQ(heap.allocate(~std::uint64_t{0}), npos);
  EXPECT_EQ(heap.allocate(~std::uint64_t{0} - 7, 4096), npos);
  EXPECT_EQ(heap.allocate(16, std::uint64_t{1} << 63), npos);
  EXPECT_NE(heap.allocate(heap.capacity()), npos);
}

TEST(segment_allocator, foreign_offsets_are_refused) {
  segment_allocator heap(4096, mib);
  std::uint64_t const small = heap.allocate(100);
  std::uint64_t const large = heap.allocate(10000);
  for (std::uint64_t const bad : {std::uint64_t{0}, small + 1, small + 16, large + 16, large - 16, 4096 + mib,
                                  npos, std::uint64_t{5}}) {
    EXPECT_FALSE(heap.deallocate(bad)) << bad;
    EXPECT_EQ(heap.size_of(bad), 0u);
  }
  EXPECT_TRUE(heap.deallocate(small));
  EXPECT_TRUE(heap.deallocate(large));
  EXPECT_FALSE(heap.deallocate(small));
  EXPECT_FALSE(heap.deallocate(large));
}

TEST(segment_allocator, freed_memory_is_reused_last_in_first_out) {
  segment_allocator heap(0, 4 * mib);
  for (std::uint64_t const size : {48u, 900u, 70000u}) {
    std::vector<std::uint64_t> live;
    for (int i = 0; i < 8; ++i) live.push_back(heap.allocate(size));
    heap.deallocate(live[2]);
    heap.deallocate(live[5]);
    EXPECT_EQ(heap.allocate(size), live[5]);
    EXPECT_EQ(heap.allocate(size), live[2]);
  }
}

TEST(segment_allocator, small_objects_fill_most_of_the_segment) {
  for (std::uint64_t const size : {16u, 24u, 64u, 100u, 200u, 640u, 1000u}) {
    segment_allocator heap(64, 16 * mib);
    std::vector<std::uint64_t> live;
    for (std::uint64_t p = heap.allocate(size); p != npos; p = heap.allocate(size)) live.push_back(p);
    EXPECT_GE(live.size() * size, 16 * mib * 75 / 100) << size;
    std::sort(live.begin(), live.end());
    EXPECT_EQ(std::adjacent_find(live.begin(), live.end()), live.end());
    for (std::uint64_t const p : live) ASSERT_TRUE(heap.deallocate(p));
    EXPECT_EQ(heap.largest_free(), 16 * mib);
  }
}

TEST(segment_allocator, exhaustion_by_small_objects_leaves_no_useless_slabs) {
  segment_allocator heap(0, 2 * mib);
  // One object of each class at a time leaves an empty slab each; a large request must get that room.
  for (std::uint64_t size = 16; size <= 1024; size += 16) heap.deallocate(heap.allocate(size));
  EXPECT_EQ(heap.allocate(2 * mib), 0u);
}

TEST(segment_allocator, long_traffic_of_mixed_sizes_does_not_fragment_badly) {
  segment_allocator heap(0, 64 * mib);
  std::mt19937_64 random(11);
  std::vector<std::uint64_t> live;
  for (int step = 0; step < 60000; ++step) {
    if (heap.bytes_used() < 40 * mib) {
      std::uint64_t const size = std::uint64_t{16} << random() % 14;
      std::uint64_t const p = heap.allocate(size + random() % size);
      ASSERT_NE(p, npos) << "at " << heap.bytes_used();
      live.push_back(p);
    } else {
      std::size_t const victim = random() % live.size();
      ASSERT_TRUE(heap.deallocate(live[victim]));
      live[victim] = live.back();
      live.pop_back();
    }
  }
  EXPECT_GT(heap.largest_free(), mib);
}

TEST(segment_allocator, threads_may_share_it) {
  segment_allocator heap(0, 32 * mib);
  std::vector<std::thread> threads;
  for (unsigned id = 0; id < 4; ++id) {
    threads.emplace_back([&heap, id] {
      std::mt19937_64 random(id);
      std::vector<std::uint64_t> live;
      for (int step = 0; step < 3000; ++step) {
        if (live.size() < 50 || random() % 2 == 0) {
          std::uint64_t const p = heap.allocate(random() % 3000);
          if (p != npos) live.push_back(p);
        } else {
          EXPECT_TRUE(heap.deallocate(live.back()));
          live.pop_back();
        }
      }
      for (std::uint64_t const p : live) EXPECT_TRUE(heap.deallocate(p));
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(heap.bytes_used(), 0u);
  EXPECT_EQ(heap.largest_free(), 32 * mib);
}

TEST(shared_heap, speaks_in_offsets_and_aligns_addresses) {
  shared_heap heap;
  EXPECT_EQ(heap.allocate(16, 16), 0u) << "before init";
  EXPECT_FALSE(heap.deallocate(16));
  EXPECT_EQ(heap.size(), 0u);
  // A region whose own alignment is poor.
  auto* const region = reinterpret_cast<std::byte*>(std::uintptr_t{0x7f0000010000});
  heap.initialise(4096, mib, region);
  EXPECT_EQ(heap.size(), mib);
  std::uint64_t const offset = heap.allocate(100, 256 * kib);
  EXPECT_NE(offset, 0u);
  EXPECT_GE(offset, 4096u);
  EXPECT_EQ((reinterpret_cast<std::uintptr_t>(region) + offset) % (256 * kib), 0u);
  EXPECT_GE(heap.size_of(offset), 100u);
  EXPECT_EQ(heap.allocate(2 * mib, 16), 0u);
  EXPECT_TRUE(heap.deallocate(offset));
  EXPECT_EQ(heap.used(), 0u);
  EXPECT_EQ(heap.largest_free(), mib);
  heap.reset();
  EXPECT_FALSE(heap.ready());
  heap.initialise(64, mib);
  EXPECT_EQ(heap.used(), 0u);
  heap.reset();
}

}  // namespace
}  // namespace atl::memory
