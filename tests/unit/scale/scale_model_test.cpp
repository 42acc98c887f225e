// What collectives of many ranks send, against the formulas of docs/design/{scale,hierarchy,collectives}.md.

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <vector>

#include <gtest/gtest.h>

#include <atoll/engine/collectives.hpp>

#include "scale/bursts.hpp"
#include "scale/model.hpp"
#include "unit/scale/shape_names.hpp"

namespace atl::scale {
namespace {

using engine::on_done;
using engine::team_view;

std::uint64_t rounds_of(std::int32_t n) { return std::bit_width(static_cast<unsigned>(n - 1)); }

void add(void* a, void const* b, std::size_t count, void const*) {
  for (std::size_t i = 0; i < count; ++i) {
    std::uint64_t x = 0;
    std::uint64_t y = 0;
    std::memcpy(&x, static_cast<std::byte*>(a) + 8 * i, 8);
    std::memcpy(&y, static_cast<std::byte const*>(b) + 8 * i, 8);
    x += y;
    std::memcpy(static_cast<std::byte*>(a) + 8 * i, &x, 8);
  }
}

tally barrier(model& m) {
  return m.run([](team_view& world, std::int32_t, on_done done) { start_barrier(world, done); });
}

/// Jobs of one rank a host and of many, whose last host has fewer.
class jobs : public testing::TestWithParam<job_shape> {
 protected:
  model m{GetParam()};
  std::int32_t ranks = GetParam().ranks;
  std::int32_t hosts = GetParam().hosts();
  std::uint64_t rounds = rounds_of(hosts);
};

INSTANTIATE_TEST_SUITE_P(sizes, jobs,
                         testing::Values(job_shape{100, 1}, job_shape{100, 16}, job_shape{1000, 128},
                                         job_shape{4096, 1}, job_shape{4096, 16}, job_shape{48, 64}),
                         name_of_shape);

TEST_P(jobs, a_barrier_takes_rounds_of_leaders_and_connects_no_one_else) {
  tally const first = barrier(m);
  tally const second = barrier(m);
  auto const h = static_cast<std::uint64_t>(hosts);
  for (tally const& t : {first, second}) {
    EXPECT_EQ(t.between, h * rounds);
    EXPECT_EQ(t.most_sent, rounds);
    EXPECT_EQ(static_cast<std::uint64_t>(t.depth), rounds);
    EXPECT_LE(t.most_connections, 2 * rounds);
  }
  EXPECT_LE(first.connects, h * rounds);
  EXPECT_EQ(second.connects, 0U);
}

TEST_P(jobs, values_come_to_all_through_heads) {
  barrier(m);
  std::vector<std::uint64_t> values(static_cast<std::size_t>(ranks));
  tally const down = m.run([&](team_view& world, std::int32_t rank, on_done done) {
    values[static_cast<std::size_t>(rank)] = rank == 3 ? 77 : 0;
    start_broadcast(world, &values[static_cast<std::size_t>(rank)], 8, 3, done);
  });
  EXPECT_EQ(std::count(values.begin(), values.end(), 77U), ranks);
  EXPECT_EQ(down.between, static_cast<std::uint64_t>(hosts - 1));
  EXPECT_LE(static_cast<std::uint64_t>(down.depth), rounds);

  std::iota(values.begin(), values.end(), 0);
  std::vector<std::uint64_t> sums(values.size());
  tally const all = m.run([&](team_view& world, std::int32_t rank, on_done done) {
    auto const r = static_cast<std::size_t>(rank);
    start_reduce(world, &values[r], &sums[r], 1, 8, &add, nullptr, -1, done);
  });
  auto const n = static_cast<std::uint64_t>(ranks);
  EXPECT_EQ(std::count(sums.begin(), sums.end(), n * (n - 1) / 2), ranks);
  bool const by_exchange = 8 * hosts <= 1984;
  auto const h = static_cast<std::uint64_t>(hosts);
  EXPECT_EQ(all.between, by_exchange ? h * rounds : 2 * (h - 1));
  EXPECT_LE(static_cast<std::uint64_t>(all.depth), by_exchange ? rounds : 2 * rounds);
}

TEST(model, gathers_and_all_to_all_bring_what_they_should) {
  model m({100, 16});
  std::vector<std::uint32_t> all(100 * 100);
  tally const gathered = m.run([&](team_view& world, std::int32_t rank, on_done done) {
    auto const r = static_cast<std::size_t>(rank);
    std::uint32_t const mine = 5 * static_cast<std::uint32_t>(rank);
    start_gather_all(world, &mine, 4, &all[100 * r], done);
  });
  for (std::size_t r = 0; r < 100; ++r) {
    for (std::uint32_t i = 0; i < 100; ++i) ASSERT_EQ(all[100 * r + i], 5 * i) << "rank " << r;
  }
  EXPECT_EQ(gathered.between, 7 * rounds_of(7));
  EXPECT_EQ(static_cast<std::uint64_t>(gathered.depth), rounds_of(7));

  std::vector<std::uint32_t> from(100 * 100);
  for (std::uint32_t r = 0; r < 100; ++r) {
    for (std::uint32_t i = 0; i < 100; ++i) from[100 * r + i] = 1000 * r + i;
  }
  tally const exchanged = m.run([&](team_view& world, std::int32_t rank, on_done done) {
    auto const r = static_cast<std::size_t>(rank);
    start_all_to_all(world, &from[100 * r], 4, &all[100 * r], done);
  });
  for (std::uint32_t r = 0; r < 100; ++r) {
    for (std::uint32_t i = 0; i < 100; ++i) ASSERT_EQ(all[100 * r + i], 1000 * i + r);
  }
  EXPECT_EQ(exchanged.most_sent, 6U) << "only leaders, each to each";
  EXPECT_EQ(exchanged.between, 7U * 6);
}

TEST(model, hosts_combine_shares_of_large_arrays) {
  for (job_shape const& shape : {job_shape{7, 1}, job_shape{100, 1}, job_shape{64, 1}, job_shape{12, 4}}) {
    model m(shape);
    barrier(m);
    auto const hosts = static_cast<std::size_t>(shape.hosts());
    // Two chunks, or several where hosts have several ranks: of shares of the same size.
    std::size_t const count = 1600 * hosts * (shape.per_host == 1 ? 1 : 24);
    std::vector<std::vector<std::uint64_t>> sums(static_cast<std::size_t>(shape.ranks));
    for (std::size_t r = 0; r < sums.size(); ++r) sums[r].assign(count, r + 1);
    tally const t = m.run([&](team_view& world, std::int32_t rank, on_done done) {
      auto& mine = sums[static_cast<std::size_t>(rank)];
      start_reduce(world, mine.data(), mine.data(), count, 8, &add, nullptr, -1, done);
    });
    std::uint64_t const expected = sums.size() * (sums.size() + 1) / 2;
    for (auto const& of_rank : sums) ASSERT_EQ(of_rank, std::vector<std::uint64_t>(count, expected));
    std::size_t const of_arrays = 2 * (hosts - 1) * (8 * count / hosts);
    EXPECT_GE(t.most_bytes, of_arrays);
    EXPECT_LE(t.most_bytes, of_arrays + 128 * t.most_sent) << "headers and grants";
    EXPECT_LE(t.between_bytes, hosts * of_arrays + 128 * t.between);
  }
}

// ---- bundles

/// Calls to random ranks of other hosts, when connections stand.
tally second_burst(bundling how, std::int32_t ranks, std::int32_t per_host, std::int32_t calls) {
  model m({ranks, per_host, 0, true, how});
  tally t;
  for (int round = 0; round < 2; ++round) {
    burst b;
    b.calls = calls;
    t = play_burst(m, b);
    EXPECT_EQ(b.arrived, static_cast<std::uint64_t>(ranks) * static_cast<std::uint64_t>(calls));
    EXPECT_EQ(b.misplaced, 0U);
  }
  EXPECT_EQ(t.connects, 0U);
  return t;
}

TEST(bundles, by_host_take_two_messages_to_a_host_whatever_the_ranks_there) {
  for (std::int32_t const per_host : {4, 16, 32}) {
    std::int32_t const hosts = 4;
    std::int32_t const ranks = hosts * per_host;
    constexpr std::int32_t calls = 64;
    auto const n = static_cast<std::uint64_t>(ranks);
    tally const none = second_burst(bundling::none, ranks, per_host, calls);
    tally const by_rank = second_burst(bundling::by_rank, ranks, per_host, calls);
    tally const by_host = second_burst(bundling::by_host, ranks, per_host, calls);
    EXPECT_GE(none.between, n * calls);
    EXPECT_GE(by_rank.between, n * std::min(calls, 3 * per_host) * 3 / 4)
        << "one to nearly each rank, at least";
    // The first leaves at once, the others together.
    EXPECT_EQ(by_host.between, n * 2 * (hosts - 1));
    EXPECT_EQ(by_host.most_sent, 2U * (hosts - 1));
    // What is passed on is sorted by its target: one message to each of them, but the counterpart itself.
    EXPECT_LE(by_host.inside, n * (hosts - 1) * static_cast<std::uint64_t>(per_host - 1));
    EXPECT_GT(by_host.inside, n);
    EXPECT_EQ(none.inside, 0U);
    EXPECT_EQ(by_rank.inside, 0U);
  }
}

// ---- connections

TEST(connections, of_an_all_to_all_stay_within_what_the_network_bears) {
  constexpr std::size_t limit = 16;
  model m({300, 1, limit});
  std::vector<std::uint64_t> values(300 * 300);
  for (int round = 0; round < 2; ++round) {
    tally const t = m.run([&](team_view& world, std::int32_t rank, on_done done) {
      start_all_to_all(world, values.data(), 8, &values[300 * static_cast<std::size_t>(rank)], done);
    });
    EXPECT_EQ(t.between, 300U * 299) << "one rank a host: nothing travels together";
    // The partners of open rounds beyond the limit, since what is in use stays, and those that are just being closed.
    EXPECT_LE(t.most_connections, limit + 24);
    EXPECT_LE(t.most_peers, limit + 24) << "who is not connected is forgotten";
    EXPECT_GE(t.connects, 300U * 299 / 2 - 300 * limit) << "each pair has had a connection";
  }
}

}  // namespace
}  // namespace atl::scale
