// The shared heap: constructors, exhaustion and recovery, alignment, queries (core digest, chapter 4).

#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>

#include "common.hpp"

namespace {

using upcxx::global_ptr;

struct counted {
  static inline int alive = 0;
  static inline int throw_at = -1;  ///< the construction (counted from 0) that throws
  static inline int constructions = 0;
  static inline std::vector<int> destroyed;

  static void reset() {
    alive = constructions = 0;
    throw_at = -1;
    destroyed.clear();
  }
  counted() : index(constructions) {
    if (constructions++ == throw_at) {
      throw std::runtime_error("as asked");
    }
    ++alive;
  }
  explicit counted(int v) : counted() { value = v; }
  counted(counted const&) = delete;
  ~counted() {
    --alive;
    destroyed.push_back(index);
  }
  int index;
  int value = -1;
};

struct takes_references {
  takes_references(int& in, std::unique_ptr<int> owned) : value(*owned) { in = 99; }
  int value;
};

struct alignas(64) over_aligned {
  char bytes[64];
};
struct alignas(4096) page_aligned {
  char bytes[4096];
};

bool aligned(void const* p, std::size_t alignment) {
  return reinterpret_cast<std::uintptr_t>(p) % alignment == 0;
}

}  // namespace

using allocation_test = multirank::fixture;

TEST_F(allocation_test, new_forwards_arguments_and_delete_runs_the_destructor) {
  counted::reset();
  global_ptr<counted> p = upcxx::new_<counted>(17);
  EXPECT_EQ(p.where(), me);
  EXPECT_TRUE(p.is_local());
  EXPECT_EQ(p.local()->value, 17);
  EXPECT_EQ(counted::alive, 1);
  upcxx::delete_(p);
  EXPECT_EQ(counted::alive, 0);
  int touched = 0;
  global_ptr<takes_references> q = upcxx::new_<takes_references>(touched, std::make_unique<int>(5));
  EXPECT_EQ(touched, 99);
  EXPECT_EQ(q.local()->value, 5);
  upcxx::delete_(q);
}

TEST_F(allocation_test, new_value_initialises_scalars) {
  for (int i = 0; i < 100; ++i) {
    global_ptr<long> dirty = upcxx::new_<long>(-1);
    upcxx::delete_(dirty);
    global_ptr<long> p = upcxx::new_<long>();
    EXPECT_EQ(*p.local(), 0);
    *p.local() = -1;
    upcxx::delete_(p);
  }
}

TEST_F(allocation_test, new_array_constructs_and_destroys_every_element) {
  counted::reset();
  global_ptr<counted> p = upcxx::new_array<counted>(37);
  EXPECT_EQ(counted::alive, 37);
  for (int i = 0; i < 37; ++i) {
    EXPECT_EQ(p.local()[i].index, i);
  }
  upcxx::delete_array(p);
  EXPECT_EQ(counted::alive, 0);
  EXPECT_EQ(counted::destroyed.size(), 37u);
}

TEST_F(allocation_test, deleting_null_does_nothing) {
  upcxx::delete_(global_ptr<int>());
  upcxx::delete_array(global_ptr<int>());
  upcxx::deallocate(static_cast<void*>(nullptr));
  upcxx::deallocate(global_ptr<int>());
  EXPECT_TRUE(upcxx::initialized());
}

TEST_F(allocation_test, a_throwing_constructor_gives_the_storage_back_and_unwinds_the_array) {
  counted::reset();
  std::int64_t const before = upcxx::shared_segment_used();
  counted::throw_at = 0;
  EXPECT_THROW((void)upcxx::new_<counted>(), std::runtime_error);
  counted::reset();
  counted::throw_at = 0;
  EXPECT_THROW((void)upcxx::new_<counted>(std::nothrow), std::runtime_error);
  counted::reset();
  counted::throw_at = 5;
  EXPECT_THROW((void)upcxx::new_array<counted>(10), std::runtime_error);
  EXPECT_EQ(counted::alive, 0);
  EXPECT_EQ(counted::destroyed, (std::vector<int>{4, 3, 2, 1, 0}));
  EXPECT_EQ(upcxx::shared_segment_used(), before);
}

TEST_F(allocation_test, exhaustion_throws_says_why_and_the_heap_recovers) {
  std::size_t const size = static_cast<std::size_t>(upcxx::shared_segment_size());
  try {
    (void)upcxx::new_array<char>(2 * size);
    ADD_FAILURE() << "twice the heap was granted";
  } catch (upcxx::bad_shared_alloc const& e) {
    EXPECT_NE(std::string(e.what()), "");
  }
  EXPECT_THROW((void)upcxx::new_array<char>(2 * size), std::bad_alloc);
  // Fill it with blocks until the end, then give all back: a large block fits again.
  std::vector<global_ptr<char>> blocks;
  for (;;) {
    global_ptr<char> block = upcxx::new_array<char>(64 << 10, std::nothrow);
    if (!block) {
      break;
    }
    std::memset(block.local(), me, 64 << 10);
    blocks.push_back(block);
  }
  EXPECT_GE(blocks.size() * (64 << 10), size / 2);
  EXPECT_THROW((void)upcxx::new_array<char>(128 << 10), upcxx::bad_shared_alloc);
  EXPECT_EQ(upcxx::allocate(128 << 10), nullptr);
  EXPECT_TRUE(upcxx::allocate<double>(16 << 10).is_null());
  for (auto block : blocks) {
    upcxx::delete_array(block);
  }
  global_ptr<char> large = upcxx::new_array<char>(size / 2);
  EXPECT_TRUE(large);
  upcxx::delete_array(large);
}

TEST_F(allocation_test, communication_works_while_the_heap_is_full) {
  std::vector<global_ptr<char>> blocks;
  global_ptr<int> cell = upcxx::new_<int>(0);
  for (std::size_t bytes = 1 << 20; bytes >= 8; bytes /= 2) {
    while (global_ptr<char> block = upcxx::allocate<char>(bytes)) {
      blocks.push_back(block);
    }
  }
  EXPECT_EQ(upcxx::allocate(1 << 10), nullptr);
  upcxx::barrier();
  // Payloads in transit never use the user's heap.
  std::vector<int> numbers(100000, me);
  auto f = upcxx::rpc(
      right,
      [](std::vector<int> const& v, global_ptr<int> p) {
        return upcxx::rput(static_cast<int>(v.size()) + v.back(), p);
      },
      numbers, cell);
  f.wait();
  EXPECT_EQ(*cell.local(), 100000 + me);
  EXPECT_EQ(upcxx::reduce_all(1, upcxx::op_fast_add).wait(), n);
  for (auto block : blocks) {
    upcxx::deallocate(block);
  }
  upcxx::delete_(cell);
}

TEST_F(allocation_test, nothrow_forms_return_null_without_constructing) {
  struct huge {
    char bytes[1 << 20];
    huge() { ++constructed(); }
    static int& constructed() {
      static int count = 0;
      return count;
    }
  };
  std::vector<global_ptr<huge>> kept;
  while (global_ptr<huge> p = upcxx::new_<huge>(std::nothrow)) {
    kept.push_back(p);
  }
  EXPECT_FALSE(kept.empty());
  EXPECT_EQ(huge::constructed(), static_cast<int>(kept.size()));
  EXPECT_THROW((void)upcxx::new_<huge>(), upcxx::bad_shared_alloc);
  EXPECT_EQ(huge::constructed(), static_cast<int>(kept.size()));
  for (auto p : kept) {
    upcxx::delete_(p);
  }
}

TEST_F(allocation_test, absurd_sizes_are_exhaustion_and_not_overflow) {
  std::size_t const max = static_cast<std::size_t>(-1);
  EXPECT_THROW((void)upcxx::new_array<long>(max / 4), upcxx::bad_shared_alloc);
  EXPECT_THROW((void)upcxx::new_array<long>(max / 8 + 1), upcxx::bad_shared_alloc);
  EXPECT_THROW((void)upcxx::new_array<char>(max), upcxx::bad_shared_alloc);
  EXPECT_TRUE(upcxx::new_array<long>(max / 8 + 2, std::nothrow).is_null());
  EXPECT_TRUE(upcxx::allocate<long>(max / 8 + 2).is_null());
  EXPECT_EQ(upcxx::allocate(max - 63, 64), nullptr);
}

TEST_F(allocation_test, alignment_is_honoured_everywhere) {
  std::vector<global_ptr<char>> spoilers;
  for (int i = 0; i < 20; ++i) {
    spoilers.push_back(upcxx::allocate<char>(static_cast<std::size_t>(i) + 1));
    global_ptr<over_aligned> one = upcxx::new_<over_aligned>();
    global_ptr<over_aligned> many = upcxx::new_array<over_aligned>(3);
    global_ptr<page_aligned> page = upcxx::new_array<page_aligned>(2);
    global_ptr<long double> wide = upcxx::new_array<long double>(3);
    EXPECT_TRUE(aligned(one.local(), 64));
    EXPECT_TRUE(aligned(many.local(), 64));
    EXPECT_TRUE(aligned(page.local(), 4096));
    EXPECT_TRUE(aligned(wide.local(), alignof(long double)));
    upcxx::delete_(one);
    upcxx::delete_array(many);
    upcxx::delete_array(page);
    upcxx::delete_array(wide);
  }
  for (std::size_t alignment = 1; alignment <= 8192; alignment *= 2) {
    void* raw = upcxx::allocate(3 * alignment, alignment);
    ASSERT_NE(raw, nullptr);
    EXPECT_TRUE(aligned(raw, alignment));
    EXPECT_TRUE(upcxx::to_global_ptr(static_cast<char*>(raw)).where() == me);
    global_ptr<int> typed = upcxx::allocate<int>(5, std::max(alignment, alignof(int)));
    EXPECT_TRUE(aligned(typed.local(), alignment));
    upcxx::deallocate(raw);
    upcxx::deallocate(typed);
  }
  void* odd = upcxx::allocate(10);  // not a multiple of the alignment: rounded up
  EXPECT_TRUE(aligned(odd, alignof(std::max_align_t)));
  upcxx::deallocate(odd);
  for (auto p : spoilers) {
    upcxx::deallocate(p);
  }
}

TEST_F(allocation_test, zero_sized_requests_can_be_freed) {
  global_ptr<int> array = upcxx::new_array<int>(0);
  global_ptr<int> typed = upcxx::allocate<int>(0);
  void* raw = upcxx::allocate(0);
  EXPECT_TRUE(array);
  EXPECT_TRUE(typed);
  EXPECT_NE(raw, nullptr);
  upcxx::delete_array(array);
  upcxx::deallocate(typed);
  upcxx::deallocate(raw);
}

TEST_F(allocation_test, live_blocks_never_overlap) {
  struct block {
    global_ptr<std::uint8_t> p;
    std::size_t size;
    int salt;
  };
  std::vector<block> live;
  std::uint32_t state = 12345u + static_cast<std::uint32_t>(me);
  auto next = [&state] { return state = state * 1664525u + 1013904223u; };
  for (int step = 0; step < 3000; ++step) {
    if (live.empty() || next() % 100 < 55) {
      std::size_t const size = 1 + (next() >> 8) % ((next() % 16 == 0) ? 60000 : 300);
      block b{upcxx::allocate<std::uint8_t>(size), size, step};
      if (b.p) {
        multirank::fill_pattern(b.p.local(), size, me, step);
        live.push_back(b);
      }
    } else {
      std::size_t const i = (next() >> 8) % live.size();
      ASSERT_EQ(multirank::first_mismatch(live[i].p.local(), live[i].size, me, live[i].salt), live[i].size);
      upcxx::deallocate(live[i].p);
      live[i] = live.back();
      live.pop_back();
    }
  }
  for (auto const& b : live) {
    EXPECT_EQ(multirank::first_mismatch(b.p.local(), b.size, me, b.salt), b.size);
    upcxx::deallocate(b.p);
  }
}

TEST_F(allocation_test, queries_follow_allocation) {
  std::int64_t const size = upcxx::shared_segment_size();
  std::int64_t const before = upcxx::shared_segment_used();
  EXPECT_GT(size, 1 << 20);
  EXPECT_GE(before, 0);
  EXPECT_LE(before, size);
  global_ptr<char> p = upcxx::new_array<char>(1 << 20);
  EXPECT_GE(upcxx::shared_segment_used(), before + (1 << 20));
  EXPECT_LE(upcxx::shared_segment_used(), size);
  upcxx::delete_array(p);
  EXPECT_EQ(upcxx::shared_segment_used(), before);
}

TEST_F(allocation_test, allocation_is_allowed_in_callbacks) {
  global_ptr<int> theirs = upcxx::rpc(
                               right, [](int v) { return upcxx::new_<int>(v); }, me)
                               .wait();
  EXPECT_EQ(theirs.where(), right);
  EXPECT_EQ(upcxx::rget(theirs).wait(), me);
  upcxx::rpc(
      right, [](global_ptr<int> p) { upcxx::delete_(p); }, theirs)
      .wait();
}

/// Heaps of half a terabyte: more than there is memory on machines that run tests. CMakeLists.txt asks for them.
class large_heap_test : public multirank::fixture {
 protected:
  static constexpr std::int64_t half_a_terabyte = std::int64_t{1} << 39;
  void SetUp() override {
    multirank::fixture::SetUp();
    if (upcxx::shared_segment_size() < half_a_terabyte) GTEST_SKIP() << "another heap was asked for";
  }
};

TEST_F(large_heap_test, what_is_allocated_late_is_there_for_all) {
  constexpr std::size_t count = std::size_t{1} << 20;
  for (int round = 0; round < 3; ++round) {
    multirank::shared_array<long> cells(count);
    for (std::size_t i = 0; i < count; i += 511) cells.local()[i] = me * 10 + round;
    upcxx::barrier();
    EXPECT_EQ(upcxx::rget(cells.at(right) + 511).wait(), right * 10 + round);
    upcxx::rput(long{-1} - me, cells.at(right) + (count - 1)).wait();
    upcxx::barrier();
    EXPECT_EQ(cells.local()[count - 1], -1 - left);
    upcxx::barrier();
  }
}

TEST_F(large_heap_test, want_of_memory_throws_and_says_what_there_is) {
  auto const bytes = static_cast<std::size_t>(upcxx::shared_segment_size()) / 8 * 7;
  auto const physical = static_cast<std::size_t>(::sysconf(_SC_PHYS_PAGES)) * 4096;
  if (physical > bytes) GTEST_SKIP() << "this machine has that much memory";
  for (int round = 0; round < 2; ++round) {
    EXPECT_EQ(upcxx::allocate(bytes), nullptr);
    try {
      (void)upcxx::new_array<char>(bytes);
      ADD_FAILURE() << "this machine has " << bytes << " bytes";
    } catch (upcxx::bad_shared_alloc const& error) {
      std::string const text = error.what();
      EXPECT_NE(text.find("rank " + std::to_string(me) + ": no memory for"), std::string::npos) << text;
      EXPECT_NE(text.find("are free"), std::string::npos) << text;
      EXPECT_NE(text.find("private memory of " + std::to_string(n)), std::string::npos) << text;
    }
    // Nothing of it is kept back.
    auto const block = upcxx::new_array<char>(std::size_t{4} << 20);
    block.local()[(4 << 20) - 1] = 'x';
    upcxx::delete_array(block);
    upcxx::experimental::destroy_heap();
    upcxx::experimental::restore_heap();
  }
}
