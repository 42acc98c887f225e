#include "upcxx/allocate.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "memory/host/host_heap.hpp"

namespace {

using upcxx::global_ptr;

constexpr std::size_t region_bytes = std::size_t{4} << 20;
constexpr std::uint64_t heap_begin = 4096;

struct tracked {
  static inline int constructed = 0;
  static inline int throw_at = -1;
  static inline std::vector<int> destroyed;
  static void reset() {
    constructed = 0;
    throw_at = -1;
    destroyed.clear();
  }

  tracked() : number(constructed) {
    if (constructed == throw_at) throw std::runtime_error("asked for");
    ++constructed;
  }
  explicit tracked(int) : tracked() {}
  tracked(tracked const&) = delete;
  tracked& operator=(tracked const&) = delete;
  ~tracked() { destroyed.push_back(number); }
  int number;
};

/// Rank 6 of the host's ranks 5 and 6, with a heap in private memory.
class allocate_test : public testing::Test {
 protected:
  void SetUp() override {
    tracked::reset();
    // Aligned as badly as the engine's regions may be.
    memory_ = static_cast<std::byte*>(std::aligned_alloc(2 << 20, 2 * region_bytes + (2 << 20))) + 65536;
    atl::engine::hosts = {memory_, region_bytes, region_bytes, 5, 2, 1, heap_begin, region_bytes};
    atl::memory::host_heap().initialise(heap_begin, region_bytes - heap_begin, memory_ + region_bytes);
  }
  void TearDown() override {
    EXPECT_EQ(upcxx::shared_segment_used(), 0) << "leak";
    atl::memory::host_heap().reset();
    atl::engine::hosts = {};
    std::free(memory_ - 65536);
  }
  /// Leaves no room for `bytes`.
  static std::vector<void*> exhaust(std::size_t bytes) {
    std::vector<void*> taken;
    for (std::size_t size = region_bytes; size >= bytes; size /= 2) {
      while (void* const p = upcxx::allocate(size)) taken.push_back(p);
    }
    return taken;
  }
  static void release(std::vector<void*> const& taken) {
    for (void* const p : taken) upcxx::deallocate(p);
  }

  std::byte* memory_ = nullptr;
};

bool is_aligned(void const* address, std::size_t alignment) {
  return reinterpret_cast<std::uintptr_t>(address) % alignment == 0;
}

struct throwing_destructor {
  static inline int destroyed = 0;
  ~throwing_destructor() noexcept(false) {
    if (destroyed++ == 1) throw std::runtime_error("asked for");
  }
};

struct alignas(256) wide {
  char bytes[256];
};
struct alignas(64) wide_tracked : tracked {};
struct aggregate {
  int a;
  int b;
};

TEST_F(allocate_test, new_value_initialises_and_forwards) {
  for (int i = 0; i < 4; ++i) {
    global_ptr<int> const dirty = upcxx::new_<int>(-1);
    EXPECT_EQ(*dirty.local(), -1);
    upcxx::delete_(dirty);
    global_ptr<int> const zero = upcxx::new_<int>();
    EXPECT_EQ(*zero.local(), 0);
    EXPECT_EQ(zero.where(), 6);
    upcxx::delete_(zero);
  }
  auto const owner = upcxx::new_<std::unique_ptr<int>>(std::make_unique<int>(3));
  EXPECT_EQ(**owner.local(), 3);
  upcxx::delete_(owner);
  auto const pair = upcxx::new_<aggregate>(1, 2);
  EXPECT_EQ(pair.local()->b, 2);
  upcxx::delete_(pair);
  global_ptr<int const> const constant = upcxx::new_<int const>(5);
  EXPECT_EQ(*constant.local(), 5);
  upcxx::delete_(constant);
}

TEST_F(allocate_test, new_array_default_initialises_numbers) {
  auto const raw = upcxx::allocate<int>(64);
  for (int i = 0; i < 64; ++i) raw.local()[i] = -1;
  upcxx::deallocate(raw);
  global_ptr<int> const array = upcxx::new_array<int>(64);
  EXPECT_EQ(*array.local(), -1) << "zeroing would be wasted work";
  upcxx::delete_array(array);
}

TEST_F(allocate_test, arrays_are_destroyed_in_reverse_with_their_exact_count) {
  for (std::size_t const n : {0u, 1u, 3u, 1000u}) {
    tracked::reset();
    global_ptr<tracked> const array = upcxx::new_array<tracked>(n);
    EXPECT_FALSE(array.is_null());
    EXPECT_EQ(tracked::constructed, static_cast<int>(n));
    upcxx::delete_array(array);
    ASSERT_EQ(tracked::destroyed.size(), n);
    for (std::size_t i = 0; i < n; ++i) EXPECT_EQ(tracked::destroyed[i], static_cast<int>(n - 1 - i));
  }
}

TEST_F(allocate_test, constructor_that_throws_leaves_nothing) {
  tracked::reset();
  tracked::throw_at = 0;
  EXPECT_THROW((void)upcxx::new_<tracked>(), std::runtime_error);
  EXPECT_THROW((void)upcxx::new_<tracked>(std::nothrow, 1), std::runtime_error);
  EXPECT_EQ(upcxx::shared_segment_used(), 0);
  tracked::throw_at = 3;
  EXPECT_THROW((void)upcxx::new_array<tracked>(10), std::runtime_error);
  EXPECT_EQ(tracked::destroyed, (std::vector<int>{2, 1, 0}));
  EXPECT_EQ(upcxx::shared_segment_used(), 0);
  tracked::reset();
  tracked::throw_at = 1;
  EXPECT_THROW((void)upcxx::new_array<tracked>(10, std::nothrow), std::runtime_error);
  EXPECT_EQ(upcxx::shared_segment_used(), 0);
}

TEST_F(allocate_test, destructor_that_throws_frees_and_destroys_the_rest) {
  throwing_destructor::destroyed = 0;
  auto const array = upcxx::new_array<throwing_destructor>(4);
  EXPECT_THROW(upcxx::delete_array(array), std::runtime_error);
  EXPECT_EQ(throwing_destructor::destroyed, 4);
  throwing_destructor::destroyed = 1;
  auto const single = upcxx::new_<throwing_destructor>();
  EXPECT_THROW(upcxx::delete_(single), std::runtime_error);
}

TEST_F(allocate_test, alignment_holds) {
  for (int i = 0; i < 3; ++i) {
    auto const object = upcxx::new_<wide>();
    EXPECT_TRUE(is_aligned(object.local(), 256));
    auto const array = upcxx::new_array<wide>(3);
    EXPECT_TRUE(is_aligned(array.local(), 256));
    auto const counted = upcxx::new_array<wide_tracked>(3);
    EXPECT_TRUE(is_aligned(counted.local(), 64));
    upcxx::delete_(object);
    upcxx::delete_array(array);
    upcxx::delete_array(counted);
  }
  for (std::size_t alignment = 1; alignment <= (std::size_t{1} << 20); alignment *= 2) {
    void* const p = upcxx::allocate(24, alignment);
    ASSERT_NE(p, nullptr) << alignment;
    EXPECT_TRUE(is_aligned(p, alignment));
    global_ptr<char> const g = upcxx::allocate<char>(5, alignment);
    EXPECT_TRUE(is_aligned(g.local(), alignment));
    upcxx::deallocate(p);
    upcxx::deallocate(g);
  }
}

TEST_F(allocate_test, zero_elements_have_addresses_of_their_own) {
  auto const a = upcxx::new_array<int>(0);
  auto const b = upcxx::new_array<int>(0);
  EXPECT_TRUE(a && b && a != b);
  void* const c = upcxx::allocate(0);
  global_ptr<int> const d = upcxx::allocate<int>(0);
  EXPECT_NE(c, nullptr);
  EXPECT_TRUE(d);
  upcxx::delete_array(a);
  upcxx::delete_array(b);
  upcxx::deallocate(c);
  upcxx::deallocate(d);
}

TEST_F(allocate_test, null_is_ignored) {
  upcxx::delete_(global_ptr<tracked>());
  upcxx::delete_array(global_ptr<tracked>());
  upcxx::delete_array(global_ptr<int>());
  upcxx::deallocate(nullptr);
  upcxx::deallocate(global_ptr<int>());
}

TEST_F(allocate_test, exhaustion_throws_with_the_state_of_the_heap_or_gives_null) {
  std::vector<void*> const taken = exhaust(16);
  EXPECT_THROW((void)upcxx::new_<int>(), upcxx::bad_shared_alloc);
  EXPECT_THROW((void)upcxx::new_<int>(), std::bad_alloc);
  EXPECT_TRUE(upcxx::new_<int>(std::nothrow).is_null());
  EXPECT_TRUE(upcxx::new_<int>(std::nothrow, 7).is_null());
  EXPECT_TRUE(upcxx::new_array<int>(10, std::nothrow).is_null());
  EXPECT_EQ(upcxx::allocate(8), nullptr);
  EXPECT_TRUE(upcxx::allocate<int>().is_null());
  try {
    (void)upcxx::new_array<double>(100000);
    FAIL();
  } catch (upcxx::bad_shared_alloc const& error) {
    std::string const text = error.what();
    EXPECT_NE(text.find("rank 6"), std::string::npos) << text;
    EXPECT_NE(text.find("800000 bytes"), std::string::npos) << text;
    EXPECT_NE(text.find("largest free block 0 B"), std::string::npos) << text;
    EXPECT_NE(text.find("UPCXX_SHARED_HEAP_SIZE"), std::string::npos) << text;
    EXPECT_EQ(text.back(), '.') << "cut: " << text;
  }
  release(taken);
  EXPECT_EQ(upcxx::shared_segment_used(), 0);
  upcxx::delete_(upcxx::new_<int>());
}

TEST_F(allocate_test, sizes_that_overflow_are_exhaustion) {
  std::size_t const huge = SIZE_MAX / sizeof(double) + 2;
  EXPECT_THROW((void)upcxx::new_array<double>(huge), upcxx::bad_shared_alloc);
  EXPECT_THROW((void)upcxx::new_array<tracked>(SIZE_MAX / sizeof(tracked)), upcxx::bad_shared_alloc);
  EXPECT_TRUE(upcxx::new_array<double>(huge, std::nothrow).is_null());
  EXPECT_TRUE(upcxx::allocate<double>(huge).is_null());
  EXPECT_EQ(upcxx::allocate(SIZE_MAX), nullptr);
}

TEST_F(allocate_test, sizes_need_not_be_multiples_of_the_alignment) {
  void* const p = upcxx::allocate(10);
  EXPECT_TRUE(is_aligned(p, alignof(std::max_align_t)));
  upcxx::deallocate(p);
}

TEST_F(allocate_test, raw_memory_becomes_global) {
  int* const p = static_cast<int*>(upcxx::allocate(sizeof(int)));
  EXPECT_TRUE(upcxx::to_global_ptr(p).local() == p);
  upcxx::deallocate(p);
}

TEST_F(allocate_test, queries_follow) {
  EXPECT_EQ(upcxx::shared_segment_size(), static_cast<std::int64_t>(region_bytes - heap_begin));
  auto const p = upcxx::new_array<char>(100000);
  EXPECT_GE(upcxx::shared_segment_used(), 100000);
  upcxx::delete_array(p);
  static_assert(std::is_same_v<decltype(upcxx::shared_segment_used()), std::int64_t>);
}

TEST_F(allocate_test, misuse_ends_the_job_with_words) {
  auto const p = upcxx::allocate<int>(4);
  EXPECT_DEATH(upcxx::deallocate(p + 1), "no allocation starts at");
  int on_stack = 0;
  EXPECT_DEATH(upcxx::deallocate(&on_stack), "in no shared heap");
  EXPECT_DEATH(upcxx::deallocate(upcxx::to_global_ptr(reinterpret_cast<int*>(memory_ + heap_begin))),
               "belongs to rank 5");
  EXPECT_DEATH(upcxx::deallocate(memory_ + heap_begin), "belongs to rank 5");
  upcxx::deallocate(p);
  EXPECT_DEATH(upcxx::deallocate(p), "freed already");
#if !defined(UPCXX_CODEMODE) || !UPCXX_CODEMODE
  auto const counted = upcxx::new_array<tracked>(2);
  EXPECT_DEATH(upcxx::delete_(counted), "allocated by new_array, which delete_array gives back");
  auto const small = upcxx::new_<int>();
  EXPECT_DEATH(upcxx::delete_(upcxx::reinterpret_pointer_cast<wide>(small)), "another type");
  EXPECT_DEATH((void)upcxx::allocate(8, 24), "power of two");
  upcxx::delete_array(counted);
  upcxx::delete_(small);
#endif
}

TEST(allocate_before_init, stops_or_says_so_and_throws_or_gives_null_in_opt) {
#if defined(UPCXX_CODEMODE) && UPCXX_CODEMODE
  EXPECT_EQ(upcxx::allocate(16), nullptr);
  EXPECT_TRUE(upcxx::new_<int>(std::nothrow).is_null());
  try {
    (void)upcxx::new_<int>();
    FAIL();
  } catch (upcxx::bad_shared_alloc const& error) {
    EXPECT_NE(std::string(error.what()).find("not initialised"), std::string::npos);
  }
#else
  EXPECT_DEATH((void)upcxx::allocate(16), "called before upcxx::init or after upcxx::finalize");
  EXPECT_DEATH((void)upcxx::new_<int>(std::nothrow), "called before upcxx::init or after upcxx::finalize");
  EXPECT_DEATH((void)upcxx::new_<int>(), "new_: called before upcxx::init or after upcxx::finalize");
  EXPECT_DEATH((void)upcxx::new_array<int>(3),
               "new_array: called before upcxx::init or after upcxx::finalize");
#endif
}

TEST(bad_shared_alloc, copies_its_text_and_cuts_long_ones) {
  std::string const text(1000, 'x');
  upcxx::bad_shared_alloc const error(text.c_str());
  EXPECT_EQ(error.what(), std::string(255, 'x'));
  upcxx::bad_shared_alloc copy;
  EXPECT_STREQ(copy.what(), "shared heap exhausted");
  copy = error;
  EXPECT_EQ(copy.what(), std::string(255, 'x'));
  EXPECT_NE(copy.what(), error.what());
  static_assert(std::is_nothrow_copy_constructible_v<upcxx::bad_shared_alloc>);
}

}  // namespace
