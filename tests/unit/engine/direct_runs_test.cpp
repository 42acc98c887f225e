// How a transfer is cut into what single operations of a network move.

#include "engine/rma/direct_runs.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <numeric>
#include <random>
#include <vector>

#include "engine/network/keys.hpp"
#include "engine/rma/shape.hpp"

namespace atl::engine::remote {
namespace {

using runs = std::vector<transfer_run>;

std::uint64_t total(std::span<transfer_run const> list) {
  return std::accumulate(list.begin(), list.end(), std::uint64_t{0},
                         [](std::uint64_t sum, transfer_run const& r) { return sum + r.bytes; });
}

void append_bytes(std::vector<std::uint64_t>& places, std::span<transfer_run const> list) {
  for (transfer_run const& r : list) {
    for (std::uint64_t i = 0; i < r.bytes; ++i) places.push_back(r.at + i);
  }
}

/// Cuts all of it, and looks whether each byte still goes where it should.
std::size_t expect_whole(runs const& here, runs const& there, std::size_t most_bytes, std::size_t most_runs) {
  std::vector<std::uint64_t> wanted_here, wanted_there, got_here, got_there;
  append_bytes(wanted_here, here);
  append_bytes(wanted_there, there);
  direct_runs all(here, there);
  std::size_t cuts = 0;
  for (; !all.ended(); ++cuts) {
    direct_cut const c = all.cut(most_bytes, most_runs);
    EXPECT_GT(c.bytes, 0U);
    EXPECT_LE(c.bytes, most_bytes);
    EXPECT_LE(c.here_count, most_runs);
    EXPECT_LE(c.there_count, most_runs);
    EXPECT_EQ(total(c.here()), c.bytes);
    EXPECT_EQ(total(c.there()), c.bytes);
    for (transfer_run const& r : c.there()) {
      EXPECT_EQ(r.at >> key_block_log, (r.at + r.bytes - 1) >> key_block_log);
    }
    append_bytes(got_here, c.here());
    append_bytes(got_there, c.there());
  }
  EXPECT_EQ(got_here, wanted_here);
  EXPECT_EQ(got_there, wanted_there);
  return cuts;
}

TEST(direct_runs, lists_are_cut_at_bytes_runs_and_blocks) {
  std::uint64_t const edge = 3 * key_block_bytes;
  EXPECT_EQ(expect_whole({{1000, 100}}, {{5000, 100}}, 1 << 20, 1), 1U);
  EXPECT_EQ(expect_whole({{1000, 100}}, {{5000, 100}}, 30, 1), 4U);
  EXPECT_EQ(expect_whole({{1000, 100}}, {{edge - 60, 100}}, 1 << 20, 1), 2U) << "two keys";
  EXPECT_EQ(expect_whole({{1000, 100}}, {{edge - 60, 100}}, 1 << 20, 2), 1U);
  EXPECT_EQ(expect_whole({{1000, 10}, {2000, 90}}, {{7000, 50}, {8000, 50}}, 1 << 20, 2), 1U);
  EXPECT_EQ(expect_whole({{1000, 10}, {1010, 90}}, {{7000, 50}, {7050, 50}}, 1 << 20, 1), 1U) << "neighbours";
  EXPECT_EQ(expect_whole({{1000, 4}, {2000, 4}, {3000, 4}}, {{7000, 12}}, 1 << 20, 2), 2U);
}

TEST(direct_runs, any_lists_arrive_whole) {
  std::minstd_rand random(7);
  for (int round = 0; round < 200; ++round) {
    runs here, there;
    std::uint64_t bytes = 1 + random() % 3000;
    auto const fill = [&](runs& list, std::uint64_t at) {
      for (std::uint64_t left = bytes; left != 0;) {
        std::uint64_t const some = std::min<std::uint64_t>(left, 1 + random() % 200);
        list.push_back({at, some});
        at += some + random() % 2 * 16;
        left -= some;
      }
    };
    fill(here, 4096);
    fill(there, 5 * key_block_bytes - random() % 3000);
    expect_whole(here, there, 1 + random() % 1000, 1 + random() % direct_cut::most_runs);
  }
}

TEST(direct_runs, the_runs_of_a_box_are_its_bytes_in_order) {
  // 3 rows of 40 bytes in each of 2 planes; 100 and 1000 apart there, 40 and 200 here.
  std::ptrdiff_t const there[] = {8, 100, 1000};
  std::ptrdiff_t const here[] = {8, 40, 200};
  std::size_t const extents[] = {5, 3, 2};
  shape const box = shape::of_box({1, 65536}, there, transfer_end::in_memory(nullptr), here, extents, 3, 8);
  EXPECT_EQ(box.size().bytes, 240U);
  EXPECT_EQ(box.size().runs, 6U);
  runs const to = box.list(shape::side::to);
  runs const from = box.list(shape::side::from);
  ASSERT_EQ(to.size(), 6U);
  ASSERT_EQ(from.size(), 6U);
  for (std::uint64_t i = 0; i < 6; ++i) {
    EXPECT_EQ(to[i].at, 65536 + i % 3 * 100 + i / 3 * 1000);
    EXPECT_EQ(from[i].at, i % 3 * 40 + i / 3 * 200);
    EXPECT_EQ(to[i].bytes, 40U);
  }
}

}  // namespace
}  // namespace atl::engine::remote
