// Goals of rows that only machines with GPUs have.

#include "goals.hpp"

#include <gtest/gtest.h>

#include "result.hpp"

namespace atl::tools {
namespace {

constexpr std::size_t mib = std::size_t{1} << 20;

/// A row beside which a peer needs `peer_ns`.
result row_beside(peer whose, double peer_ns, std::string key, std::size_t bytes, double ns) {
  result r;
  r.suite = "gpu";
  r.key = std::move(key);
  r.bytes = bytes;
  r.ranks = 2;
  r.median_ns = ns;
  r.peer_ns[static_cast<std::size_t>(whose)] = peer_ns;
  return r;
}

/// Goals against peers, and whether they are reached.
std::string judged(result const& r) {
  std::string found;
  for (goal const& g : find_goals(r)) {
    if (g.what == goal::measure::at_most_peers) found += g.text() + (g.reached(r) ? " yes" : " no");
  }
  return found;
}

TEST(goals, sums_in_streams_are_not_behind_nccl) {
  for (std::size_t const bytes : {std::size_t{8}, std::size_t{4096}, std::size_t{65536}}) {
    EXPECT_EQ(judged(row_beside(peer::nccl, 1000, "gpu.stream.reduce", bytes, 1019)), "<= 1.02 NCCL yes");
    EXPECT_EQ(judged(row_beside(peer::nccl, 1000, "gpu.stream.reduce", bytes, 1021)), "<= 1.02 NCCL no");
  }
}

TEST(goals, sums_in_graphs_take_at_most_four_fifths_of_the_time_of_nccl) {
  for (std::size_t const bytes : {std::size_t{8}, std::size_t{4096}, std::size_t{65536}}) {
    EXPECT_EQ(judged(row_beside(peer::nccl, 1000, "gpu.graph.reduce", bytes, 799)), "<= 0.8 NCCL yes");
    EXPECT_EQ(judged(row_beside(peer::nccl, 1000, "gpu.graph.reduce", bytes, 801)), "<= 0.8 NCCL no");
  }
}

TEST(goals, long_sums_reach_the_bandwidth_of_nccl_but_for_a_twentieth) {
  for (std::size_t const bytes : {16 * mib, 64 * mib}) {
    EXPECT_EQ(judged(row_beside(peer::nccl, 950, "gpu.stream.reduce", bytes, 999)), "<= 1.05 NCCL yes");
    EXPECT_EQ(judged(row_beside(peer::nccl, 950, "gpu.stream.reduce", bytes, 1001)), "<= 1.05 NCCL no");
  }
}

TEST(goals, collectives_that_copy_are_not_behind_nccl_and_clearly_ahead_in_graphs) {
  for (std::string const key : {"broadcast", "gather_all"}) {
    for (std::size_t const bytes : {std::size_t{8}, mib, 64 * mib}) {
      EXPECT_EQ(judged(row_beside(peer::nccl, 1000, "gpu.stream." + key, bytes, 1019)), "<= 1.02 NCCL yes");
      EXPECT_EQ(judged(row_beside(peer::nccl, 1000, "gpu.stream." + key, bytes, 1021)), "<= 1.02 NCCL no");
    }
    EXPECT_EQ(judged(row_beside(peer::nccl, 1000, "gpu.graph." + key, 8, 799)), "<= 0.8 NCCL yes");
    EXPECT_EQ(judged(row_beside(peer::nccl, 1000, "gpu.graph." + key, 8, 801)), "<= 0.8 NCCL no");
  }
}

TEST(goals, signals_in_streams_are_not_behind_nvshmem) {
  for (std::size_t const bytes : {std::size_t{8}, std::size_t{4096}, std::size_t{65536}, mib}) {
    EXPECT_EQ(judged(row_beside(peer::nvshmem_stream, 1000, "gpu.stream.signal", bytes, 1019)),
              "<= 1.02 on stream yes");
    EXPECT_EQ(judged(row_beside(peer::nvshmem_stream, 1000, "gpu.stream.signal", bytes, 1021)),
              "<= 1.02 on stream no");
  }
}

TEST(goals, kernels_are_not_behind_those_of_nvshmem) {
  auto const wanted = [](std::string const& key, std::size_t bytes, double ns) {
    return judged(row_beside(peer::nvshmem, 1000, key, bytes, ns));
  };
  for (std::size_t const bytes : {std::size_t{8}, std::size_t{4096}}) {
    EXPECT_EQ(wanted("gpu.kernel.signal", bytes, 1019), "<= 1.02 NVSHMEM yes");
    EXPECT_EQ(wanted("gpu.kernel.signal", bytes, 1021), "<= 1.02 NVSHMEM no");
  }
  EXPECT_NE(wanted("gpu.kernel.stamped", 16, 1021).find("<= 1.02 NVSHMEM no"), std::string::npos);
  for (char const* const key : {"gpu.kernel.put", "gpu.kernel.put_block"})
    EXPECT_NE(wanted(key, 16 * mib, 1019).find("<= 1.02 NVSHMEM yes"), std::string::npos);
}

TEST(goals, a_peer_that_was_not_measured_gives_none) {
  EXPECT_EQ(judged(row_beside(peer::ucx, 1000, "gpu.stream.reduce", 8, 1)), "");
}

}  // namespace
}  // namespace atl::tools
