// Which streams are known to have come by uses of memory.

#include "engine/copies/stream_passes.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

using atl::engine::stream_passes;
using atl::engine::stream_use;

namespace {

/// Uses of one segment.
struct user {
  stream_passes& passes;
  std::vector<stream_use> uses{};
  void use(std::uint64_t stream, std::uint64_t when) {
    passes.note_use({stream, when});
    passes.add(uses, {stream, when});
  }
  [[nodiscard]] bool is_free() const {
    for (stream_use const& u : uses) {
      if (!passes.has_passed(u)) return false;
    }
    return true;
  }
};

TEST(stream_passes, memory_is_free_when_all_streams_have_passed_their_last_use) {
  stream_passes passes;
  user a{passes};
  user b{passes};
  a.use(1, 1);
  a.use(2, 2);
  b.use(1, 3);
  passes.note_passed({1, 2});
  EXPECT_FALSE(a.is_free());
  passes.note_passed({2, 2});
  EXPECT_TRUE(a.is_free());
  EXPECT_FALSE(b.is_free());
  passes.note_passed({1, 3});
  EXPECT_TRUE(b.is_free());
  // A later use says nothing of earlier ones.
  b.use(1, 4);
  EXPECT_TRUE(a.is_free());
  EXPECT_FALSE(b.is_free());
  passes.note_all_passed(4);
  EXPECT_TRUE(b.is_free());
}

TEST(stream_passes, a_stream_that_is_not_known_has_passed_when_all_have) {
  stream_passes passes;
  user a{passes};
  a.use(0, 1);
  passes.note_passed({0, 1});
  EXPECT_FALSE(a.is_free());
  passes.note_all_passed(1);
  EXPECT_TRUE(a.is_free());
}

TEST(stream_passes, any_number_of_streams_takes_a_bounded_amount_of_memory) {
  stream_passes passes;
  user a{passes};
  user b{passes};
  constexpr std::uint64_t many = 10 * stream_passes::most;
  b.use(many + 1, 1);
  for (std::uint64_t i = 2; i <= many; ++i) a.use(i, i);
  EXPECT_LE(a.uses.size(), stream_passes::most);
  // What is known of no longer counts as not passed.
  passes.note_passed({many + 1, 1});
  EXPECT_FALSE(b.is_free());
  for (std::uint64_t i = 2; i <= many; ++i) passes.note_passed({i, i});
  EXPECT_FALSE(a.is_free());
  b.use(many + 2, many + 1);
  passes.note_passed({many + 2, many + 1});
  EXPECT_FALSE(b.is_free());
  passes.note_all_passed(many);
  EXPECT_TRUE(a.is_free());
  EXPECT_TRUE(b.is_free());
  // Streams that are asked are forgotten.
  for (std::uint64_t i = many + 2; i < 2 * many; ++i) {
    a.use(i, i);
    passes.note_passed({i, i});
  }
  EXPECT_TRUE(a.is_free());
  EXPECT_LE(a.uses.size(), 1U);
}

}  // namespace
