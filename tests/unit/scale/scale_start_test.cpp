// What ranks of large jobs do when they start, against the formulas of docs/design/{scale,bootstrap}.md.

#include <algorithm>
#include <cstdint>
#include <string>

#include <gtest/gtest.h>

#include "scale/start.hpp"
#include "unit/scale/shape_names.hpp"

namespace atl::scale {
namespace {

/// With three hosts all ranks are played, with more those of three.
class starts : public testing::TestWithParam<job_shape> {};

INSTANTIATE_TEST_SUITE_P(sizes, starts,
                         testing::Values(job_shape{3, 1}, job_shape{40, 16}, job_shape{100, 1},
                                         job_shape{100, 16}, job_shape{4096, 1}, job_shape{4096, 16}),
                         name_of_shape);

TEST_P(starts, send_nothing_and_ask_for_no_more_than_they_must) {
  job_shape const shape = GetParam();
  auto const all = static_cast<std::uint64_t>(shape.ranks);
  auto const hosts = static_cast<std::uint64_t>(shape.hosts());
  start_tally const t = play_start(shape);
  EXPECT_EQ(t.sent, 0U);
  for (rank_at_start const& each : t.played) {
    SCOPED_TRACE("rank " + std::to_string(each.rank));
    std::int32_t const first = each.rank / shape.per_host * shape.per_host;
    auto const here = static_cast<std::uint64_t>(std::min(shape.per_host, shape.ranks - first));
    bool const leads = each.rank == first;
    EXPECT_EQ(each.sent, 0U);
    EXPECT_TRUE(each.is_rung);
    EXPECT_EQ(each.job_meetings, 3U) << "where ranks are, keepers, the network";
    EXPECT_EQ(each.host_meetings, t.exchanges);

    asked_for const places = each.asked_of("host");
    EXPECT_EQ(places.times, all);
    EXPECT_EQ(places.bytes, 8 * all);
    EXPECT_EQ(each.asked_of("word").times, leads ? hosts : 0) << "of the agreement, by one rank of a host";
    EXPECT_LE(each.asked_of("word").bytes, 128 * hosts);
    EXPECT_EQ(each.asked_of("keeper").times, leads ? 2U : 0U);
    std::uint64_t const of_rank_0 = each.rank == 0 ? 0 : leads ? 2 : 1;
    EXPECT_EQ(each.asked_of("job").times + each.asked_of("secret").times, of_rank_0);
    EXPECT_EQ(each.asked_of("exchange").times, t.exchanges * (here - 1));
    std::uint64_t const known = all + (leads ? hosts + 2 : 0) + of_rank_0 + t.exchanges * (here - 1);
    EXPECT_EQ(each.asked_in_all().times, known) << "something else is asked for";
  }
}

TEST(start, takes_the_same_requests_and_at_most_a_map_more_memory_in_larger_jobs) {
  for (std::int32_t const per_host : {1, 16}) {
    job_shape const small{8 * per_host, per_host};
    job_shape const large{4096, per_host};
    start_tally const few = play_start(small);
    start_tally const many = play_start(large);
    struct rank_of_both {
      rank_at_start const& few;
      rank_at_start const& many;
    };
    for (auto const& [one, other] :
         {rank_of_both{few.first(), many.first()}, rank_of_both{few.other(small), many.other(large)}}) {
      EXPECT_EQ(one.requests, other.requests);
      EXPECT_LE(other.left_bytes, one.left_bytes + 64) << "numbers have more digits, and that is all";
      auto const more = static_cast<std::size_t>(large.ranks - small.ranks);
      constexpr std::size_t rounding = 1024;
      EXPECT_LE(other.heap, one.heap + 8 * more + rounding);
      EXPECT_GE(other.heap, one.heap);
    }
    EXPECT_EQ(few.exchanges, many.exchanges);
    EXPECT_EQ(many.steps, 3U * 2 * (per_host == 1 ? 12 : 8)) << "up a tree of hosts and down again";
  }
}

TEST(start, passes_events_in_rounds_where_few_descriptors_may_be_under_way) {
  start_tally const at_once = play_start({17, 16});
  // 31 letters of 32 descriptors are 992, and a round has a quarter of the limit.
  start_tally const few = play_start({33, 32}, 256);
  for (rank_at_start const& each : few.played) EXPECT_TRUE(each.is_rung) << "rank " << each.rank;
  EXPECT_EQ(few.exchanges, at_once.exchanges + 16 - 1);
}

TEST(start, takes_the_same_virtual_time_whatever_the_time_of_the_system) {
  job_shape const shape{60, 4};
  start_tally const once = play_start(shape);
  start_tally const again = play_start(shape);
  EXPECT_EQ(once.time, again.time);
  EXPECT_GT(once.time[0], 0);
  EXPECT_GT(once.time[2], once.time[0]) << "over TCP";
}

}  // namespace
}  // namespace atl::scale
