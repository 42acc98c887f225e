// World ranks and local ranks: consecutive, dealt out in turn, and in uneven pieces.

#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "bootstrap/placement.hpp"

namespace atl::bootstrap {
namespace {

TEST(placement, one_host_needs_no_table) {
  placement const here = place(2, {0, 0, 0, 0});
  EXPECT_EQ(here.table, nullptr);
  EXPECT_EQ(here.hosts, 1);
  EXPECT_EQ(here.local_rank, 2);
  EXPECT_EQ(here.local_size, 4);
  EXPECT_EQ(here.host_of(3), 0);
  host_ranks const ranks = here.ranks_of_host();
  EXPECT_TRUE(ranks.consecutive());
  for (std::int32_t r = 0; r < 4; ++r) {
    EXPECT_EQ(ranks.local_rank(r), static_cast<std::uint32_t>(r));
    EXPECT_EQ(ranks.world_rank(static_cast<std::uint32_t>(r)), r);
  }
  for (std::int32_t const r : {-1, 4, 100}) EXPECT_FALSE(ranks.has(r)) << r;
}

/// Every process' view of a layout, compared with what counting says.
void check_layout(std::vector<std::int32_t> const& host_of) {
  auto const size = static_cast<std::int32_t>(host_of.size());
  for (std::int32_t me = 0; me < size; ++me) {
    placement const here = place(me, host_of);
    host_ranks const ranks = here.ranks_of_host();
    ASSERT_EQ(here.rank, me);
    ASSERT_EQ(here.size, size);
    ASSERT_EQ(here.host, host_of[static_cast<std::size_t>(me)]);
    std::uint32_t local = 0;
    for (std::int32_t r = 0; r < size; ++r) {
      ASSERT_EQ(here.host_of(r), host_of[static_cast<std::size_t>(r)]);
      bool const mine = here.host_of(r) == here.host;
      ASSERT_EQ(ranks.has(r), mine) << "rank " << r << " seen by " << me;
      if (!mine) continue;
      if (r == me) {
        ASSERT_EQ(here.local_rank, static_cast<std::int32_t>(local));
      }
      ASSERT_EQ(ranks.local_rank(r), local) << "rank " << r << " seen by " << me;
      ASSERT_EQ(ranks.world_rank(local), r);
      ++local;
    }
    ASSERT_EQ(ranks.count(), local);
    ASSERT_EQ(here.local_size, static_cast<std::int32_t>(local));
    for (std::int32_t const r : {-1, INT32_MIN, size, INT32_MAX}) ASSERT_FALSE(ranks.has(r)) << r;
    // Own rank and its neighbours on the host are known without the table.
    auto const distance = static_cast<std::uint32_t>(me - ranks.run_first());
    ASSERT_LT(distance, ranks.run_length());
    ASSERT_EQ(ranks.run_begin() + distance, static_cast<std::uint32_t>(here.local_rank));
  }
}

TEST(placement, blocks) {
  check_layout({0, 0, 1, 1});
  check_layout({0, 1, 1, 1});
  EXPECT_TRUE(place(2, {0, 1, 1, 1}).ranks_of_host().consecutive());
}

TEST(placement, dealt_out_in_turn) {
  check_layout({0, 1, 0, 1});
  check_layout({0, 1, 2, 0, 1, 2, 0, 1, 2});
  check_layout({0, 0, 1, 1, 0, 0, 1, 1});
  EXPECT_EQ(place(4, {0, 0, 1, 1, 0, 0, 1, 1}).ranks_of_host().run_length(), 2U);
}

TEST(placement, counterparts_on_hosts) {
  std::vector<std::int32_t> const host_of{2, 0, 0, 1, 0, 0, 0, 2, 3, 0};
  using ranks = std::vector<std::int32_t>;
  EXPECT_EQ(place(0, host_of).counterparts(), (ranks{1, -1, 0, -1}));
  EXPECT_EQ(place(7, host_of).counterparts(), (ranks{2, -1, 7, -1}));
  EXPECT_EQ(place(4, host_of).counterparts(), (ranks{4, -1, 0, -1}));
  EXPECT_EQ(place(9, host_of).counterparts(), (ranks{9, -1, 7, -1}));
  EXPECT_EQ(place(1, {0, 0}).counterparts(), ranks{1});
}

TEST(placement, first_ranks_of_hosts) {
  EXPECT_EQ(place(2, {2, 0, 0, 1, 0, 0, 0, 2, 1, 0}).first_ranks(), (std::vector<std::int32_t>{1, 3, 0}));
  EXPECT_EQ(place(1, {0, 0}).first_ranks(), std::vector<std::int32_t>{0});
}

TEST(placement, uneven) {
  check_layout({2, 0, 0, 1, 0, 0, 0, 2, 1, 0});
  check_layout({1, 0});
}

}  // namespace
}  // namespace atl::bootstrap
