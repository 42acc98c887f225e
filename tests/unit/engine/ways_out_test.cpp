// Whether a host can be reached: interfaces made by hand.

#include "engine/network/ways_out.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <vector>

#include "unit/transport/fake_machine.hpp"

namespace atl::engine {
namespace {

using interfaces = std::vector<way_out>;

constexpr std::chrono::hours long_enough{1};
constexpr std::chrono::milliseconds not_at_all{0};

TEST(ways_out, one_that_can_be_used_is_enough) {
  EXPECT_EQ(why_no_way_out({{"eth0", true, false, true}, {"eth1", true, true, true}}, ""), "");
  EXPECT_EQ(why_no_way_out({{"eth0", true, true, true}}, "all"), "");
}

TEST(ways_out, each_that_cannot_be_used_says_why) {
  interfaces const bad{
      {"eth0", true, false, true}, {"eth1", false, false, true}, {"eth2", true, true, false}};
  EXPECT_EQ(why_no_way_out(bad, ""),
            "no network device but lo: eth0 has no carrier, eth1 is down, eth2 has no address");
  EXPECT_EQ(why_no_way_out({}, ""), "no network device but lo");
}

TEST(ways_out, of_those_that_are_named_nothing_else_counts) {
  interfaces const mixed{{"eth0", true, false, true}, {"eth1", true, true, true}};
  EXPECT_EQ(why_no_way_out(mixed, "eth0"), "eth0 has no carrier");
  EXPECT_EQ(why_no_way_out(mixed, "tcp/eth0"), "eth0 has no carrier");
  EXPECT_EQ(why_no_way_out(mixed, "eth0,eth1:1"), "");
  EXPECT_EQ(why_no_way_out(mixed, "lo"), "") << "what is no interface of the list is the library's affair";
  EXPECT_EQ(why_no_way_out(mixed, "eth0,mlx5_0:1"), "");
}

TEST(ways_out, a_cable_that_is_put_back_is_waited_for) {
  int looks = 0;
  auto const look = [&] {
    ++looks;
    return interfaces{{"eth0", true, looks >= 3, true}};
  };
  EXPECT_EQ(await_way_out("", long_enough, look), "");
  EXPECT_EQ(looks, 3);
}

TEST(ways_out, what_stays_out_is_waited_for_in_vain) {
  interfaces const out{{"eth0", true, false, true}};
  EXPECT_EQ(await_way_out("", not_at_all, [&] { return out; }),
            "no network device but lo: eth0 has no carrier");
  // Where there is no interface none can come.
  EXPECT_EQ(await_way_out("", long_enough, [] { return interfaces(); }), "no network device but lo");
}

TEST(ways_out, hosts_with_adapters_are_taken_to_be_reached) {
  test::fake_machine const machine;
  machine.write("sys/class/infiniband/mlx5_0/node_type", "1: CA");
  EXPECT_EQ(why_no_way_out(ways_out(machine.sys()), ""), "");
}

}  // namespace
}  // namespace atl::engine
