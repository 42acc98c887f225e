// The notation of ATOLL_SIM_HOSTS, and the channel that plays hosts.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/error.hpp"
#include "bootstrap/factories.hpp"
#include "bootstrap/host_layout.hpp"
#include "bootstrap/simulated_hosts.hpp"

namespace atl::bootstrap {
namespace {

using hosts = std::vector<std::int32_t>;

TEST(host_layout, equal_hosts) {
  EXPECT_EQ(read_host_layout("2x3", 6), (hosts{0, 0, 0, 1, 1, 1}));
  EXPECT_EQ(read_host_layout("3x1", 3), (hosts{0, 1, 2}));
  EXPECT_EQ(read_host_layout("1x2", 2), (hosts{0, 0}));
}

TEST(host_layout, sizes) {
  EXPECT_EQ(read_host_layout("1,3", 4), (hosts{0, 1, 1, 1}));
  EXPECT_EQ(read_host_layout("2,1,1", 4), (hosts{0, 0, 1, 2}));
  EXPECT_EQ(read_host_layout("4", 4), (hosts{0, 0, 0, 0}));
}

TEST(host_layout, in_turn) {
  EXPECT_EQ(read_host_layout("cyclic:2x3", 6), (hosts{0, 1, 0, 1, 0, 1}));
  EXPECT_EQ(read_host_layout("cyclic:3x2", 6), (hosts{0, 1, 2, 0, 1, 2}));
  EXPECT_EQ(read_host_layout("cyclic:1x4", 4), (hosts{0, 0, 0, 0}));
  EXPECT_EQ(read_host_layout("cyclic:1,3", 4), (hosts{0, 1, 1, 1}));
  EXPECT_EQ(read_host_layout("cyclic:3,1,2", 6), (hosts{0, 1, 2, 0, 2, 0}));
}

std::string complaint(std::string_view text, std::int32_t ranks) {
  try {
    read_host_layout(text, ranks);
  } catch (startup_error const& error) {
    return error.what();
  }
  return "";
}

TEST(host_layout, refuses_in_words) {
  for (char const* const text : {"",
                                 "x",
                                 "2x",
                                 "x2",
                                 "2x2x2",
                                 "0x4",
                                 "4x0",
                                 "-1x-4",
                                 "2 x 2",
                                 "1,",
                                 ",3",
                                 "1,,2",
                                 "0,4",
                                 "cyclic",
                                 "cyclic:",
                                 "cyclic:cyclic:2x2",
                                 "block:2x2",
                                 "2X2",
                                 "99999999999999999999x1",
                                 "2x2,4"}) {
    EXPECT_NE(complaint(text, 4).find("not a layout of hosts"), std::string::npos) << text;
  }
  EXPECT_EQ(complaint("2x2", 3), "ATOLL_SIM_HOSTS=2x2 is for 4 ranks, but the job has 3");
  EXPECT_EQ(complaint("1x1", 2), "ATOLL_SIM_HOSTS=1x1 is for 1 rank, but the job has 2");
  EXPECT_NE(complaint("1000000x1000000", 4).find("the job has 4"), std::string::npos);
}

TEST(simulated_hosts, of_one_rank) {
  auto const real = make_solo();
  auto const channel = simulate_hosts(*real, "1x1");
  EXPECT_EQ(channel->name(), "solo");
  EXPECT_EQ(channel->where().hosts, 1);
  EXPECT_EQ(channel->exchange("a"), std::vector<std::string>{"a"});
  EXPECT_EQ(channel->exchange_machine("b"), std::vector<std::string>{"b"});
  channel->publish("c");
  EXPECT_EQ(channel->published_by(0), "c");
  EXPECT_THROW(simulate_hosts(*real, "2x1"), startup_error);
}

}  // namespace
}  // namespace atl::bootstrap
