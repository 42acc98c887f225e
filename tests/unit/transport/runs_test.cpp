// Lists of pieces whose cuts differ, as runs that are whole on both sides.

#include "transport/common/runs.hpp"

#include <numeric>
#include <vector>

#include <gtest/gtest.h>

namespace atl::transport {
namespace {

struct run {
  std::uint64_t far;
  std::ptrdiff_t near;
  std::size_t bytes;
  bool operator==(run const&) const = default;
};

std::byte memory[100];

/// Pieces of these lengths: far ones begin at 1000, 2000, …, near ones at 10, 20, …
std::vector<run> runs(std::vector<std::size_t> const& far_bytes, std::vector<std::size_t> const& near_bytes,
                      std::size_t most = ~std::size_t{0}) {
  std::vector<remote_piece> far;
  for (std::size_t const n : far_bytes) far.push_back({{nullptr, 1000 * (far.size() + 1)}, n});
  std::vector<local_piece> near;
  for (std::size_t const n : near_bytes) near.push_back({{memory + 10 * (near.size() + 1), nullptr}, n});
  EXPECT_EQ(sum(far), std::accumulate(far_bytes.begin(), far_bytes.end(), std::size_t{0}));
  std::vector<run> all;
  for_each_run(far, near, [&](remote_place const& there, local_place const& here, std::size_t bytes) {
    all.push_back({there.offset, static_cast<std::byte*>(here.address) - memory, bytes});
    return all.size() < most;
  });
  return all;
}

TEST(runs, AreAsLongAsBothSidesAllow) {
  EXPECT_EQ(runs({8}, {8}), (std::vector<run>{{1000, 10, 8}}));
  EXPECT_EQ(runs({3, 5}, {3, 5}), (std::vector<run>{{1000, 10, 3}, {2000, 20, 5}}));
  EXPECT_EQ(runs({8}, {3, 1, 4}), (std::vector<run>{{1000, 10, 3}, {1003, 20, 1}, {1004, 30, 4}}));
  EXPECT_EQ(runs({3, 1, 4}, {8}), (std::vector<run>{{1000, 10, 3}, {2000, 13, 1}, {3000, 14, 4}}));
  EXPECT_EQ(runs({2, 6}, {5, 3}), (std::vector<run>{{1000, 10, 2}, {2000, 12, 3}, {2003, 20, 3}}));
}

TEST(runs, OfNothingAreNone) {
  EXPECT_TRUE(runs({}, {}).empty());
  EXPECT_TRUE(runs({0, 0}, {0}).empty());
  EXPECT_EQ(runs({0, 4, 0}, {2, 0, 2}), (std::vector<run>{{2000, 10, 2}, {2002, 30, 2}}));
}

TEST(runs, EndWhereTheCallerDoes) {
  EXPECT_EQ(runs({1, 1, 1}, {3}, 2), (std::vector<run>{{1000, 10, 1}, {2000, 11, 1}}));
}

}  // namespace
}  // namespace atl::transport
