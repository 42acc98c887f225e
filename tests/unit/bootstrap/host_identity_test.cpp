// Which ranks share a host, from eight bytes of each.

#include "bootstrap/host_identity.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <set>
#include <vector>

namespace atl::bootstrap {
namespace {

TEST(host_identity, hosts_are_numbered_by_their_first_ranks) {
  // The last two bytes are the network's.
  std::vector<host_identity> const dealt{0x770000, 0x50001, 0x770002, 0x50001, 0x90000};
  placement const here = place_by_identity(2, dealt);
  EXPECT_EQ(here.hosts, 3);
  EXPECT_EQ(here.host, 0);
  EXPECT_EQ(here.local_rank, 1);
  EXPECT_EQ(here.local_size, 2);
  EXPECT_EQ(here.largest_host, 2);
  std::vector<std::int32_t> const expected{0, 1, 0, 1, 2};
  ASSERT_NE(here.table, nullptr);
  EXPECT_EQ(here.table->host_of, expected);
  EXPECT_EQ(place_by_identity(1, std::vector<host_identity>(4, 0x770000)).table, nullptr);
}

TEST(host_identity, nodes_and_names_tell_hosts_apart) {
  ::unsetenv("ATOLL_HOST");
  std::set<host_identity> seen;
  for (std::int64_t node = -1; node < 1000; ++node) seen.insert(own_host_identity(node));
  EXPECT_EQ(seen.size(), 1001U);
  EXPECT_EQ(own_host_identity(7), own_host_identity(7));
  for (char const* const name : {"a", "b", "ab", "7"}) {
    ::setenv("ATOLL_HOST", name, 1);
    EXPECT_EQ(own_host_identity(1), own_host_identity(2)) << "the name overrides";
    EXPECT_TRUE(seen.insert(own_host_identity(0)).second) << name;
  }
  ::unsetenv("ATOLL_HOST");
}

TEST(host_identity, networks_of_a_host_are_told_apart) {
  host_identity const mine = own_host_identity(3);
  EXPECT_TRUE(share_network(mine, own_host_identity(3)));
  EXPECT_FALSE(share_network(mine, mine ^ 1));
  EXPECT_FALSE(share_network(0x30000, 0x30000)) << "not known";
}

TEST(host_identity, hashes_are_the_published_ones) {
  // Of FNV-1a with 64 bits: ranks of two builds must agree.
  EXPECT_EQ(hash_of(""), 0xcbf29ce484222325U);
  EXPECT_EQ(hash_of("a"), 0xaf63dc4c8601ec8cU);
  EXPECT_EQ(hash_of("foobar"), 0x85944171f73967e8U);
}

}  // namespace
}  // namespace atl::bootstrap
