// How broadcasts in streams go, by their size and the number of ranks.

#include <atoll/extensions/stream/collective_links.hpp>

#include <gtest/gtest.h>

#include <cstddef>

namespace {

constexpr std::size_t step = std::size_t{1} << 20;

atl::detail::broadcast_way way(std::size_t bytes, int ranks) {
  return atl::detail::choose_way(bytes, ranks, step);
}

TEST(broadcast_way, short_ones_and_those_of_two_ranks_go_down_a_tree) {
  for (int const ranks : {1, 2, 3, 4, 5, 8, 64}) {
    for (std::size_t const bytes : {std::size_t{1}, std::size_t{8}, std::size_t{65536}}) {
      EXPECT_FALSE(way(bytes, ranks).chain) << ranks << ' ' << bytes;
      EXPECT_EQ(way(bytes, ranks).piece, bytes);
    }
  }
  for (std::size_t bytes = 1; bytes < step << 14; bytes *= 8) {
    EXPECT_FALSE(way(bytes, 1).chain);
    EXPECT_FALSE(way(bytes, 2).chain);
  }
}

TEST(broadcast_way, long_ones_go_along_a_chain_in_pieces_that_grow_slower) {
  for (int const ranks : {3, 4, 8, 16}) {
    std::size_t before = 0;
    for (std::size_t bytes = 64 * step; bytes <= 4096 * step; bytes *= 4) {
      auto const found = way(bytes, ranks);
      EXPECT_TRUE(found.chain) << ranks << ' ' << bytes;
      EXPECT_EQ(found.piece % 256, 0u);
      std::size_t const pieces = (bytes + found.piece - 1) / found.piece;
      EXPECT_GT(pieces, before);
      EXPECT_GT(found.piece, step / 4);
      before = pieces;
      // Every link carries everything, and waits for the first piece to come there.
      double const steps = static_cast<double>(pieces + static_cast<std::size_t>(ranks) - 2) *
                           (1 + static_cast<double>(found.piece) / step);
      double const alone = 1 + static_cast<double>(bytes) / step;
      EXPECT_LT(steps, 2.2 * alone) << ranks << ' ' << bytes;
    }
  }
}

}  // namespace
