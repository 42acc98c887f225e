#include "topology/topology.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace {

using namespace atl::tools;

/// Two sockets with a NUMA node each, two cores in each, two hardware threads in each.
topology machine() {
  return {true,
          "a test",
          {{"socket 0", {0, 1, 4, 5}}, {"socket 1", {2, 3, 6, 7}}},
          {{"numa 0", {0, 1, 4, 5}}, {"numa 1", {2, 3, 6, 7}}},
          {{"core 0", {0, 4}}, {"core 1", {1, 5}}, {"core 2", {2, 6}}, {"core 3", {3, 7}}}};
}

TEST(topology, cores_come_before_their_second_threads) {
  EXPECT_EQ(cores_first(machine()), (std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7}));
  topology uneven = machine();
  uneven.cores = {{"core 0", {0, 4}}, {"core 1", {1}}};
  EXPECT_EQ(cores_first(uneven), (std::vector<int>{0, 1, 4}));
}

TEST(topology, neighbouring_ranks_share_a_group) {
  auto const groups = machine().sockets;
  auto const names = [&](int ranks) {
    std::string text;
    for (int rank = 0; rank < ranks; ++rank) text += group_of_rank(groups, rank, ranks).name.back();
    return text;
  };
  EXPECT_EQ(names(1), "0");
  EXPECT_EQ(names(2), "01");
  EXPECT_EQ(names(4), "0011");
  EXPECT_EQ(names(5), "00011");
}

TEST(topology, lists_of_numbers) {
  EXPECT_EQ(list_of({}), "");
  EXPECT_EQ(list_of({3}), "3");
  EXPECT_EQ(list_of({0, 1, 2, 3, 8, 10, 11}), "0-3,8,10-11");
}

TEST(topology, picture) {
  EXPECT_EQ(picture_of(machine(), "  "),
            "  socket 0    numa 0   [0 4] [1 5]\n"
            "  socket 1    numa 1   [2 6] [3 7]\n"
            "  -n 4 --bind core    rank 0 on 0; rank 1 on 1; rank 2 on 2; rank 3 on 3\n"
            "  -n 4 --bind socket  ranks 0-1 on 0-1,4-5; ranks 2-3 on 2-3,6-7\n"
            "  -n 4 --bind numa    ranks 0-1 on 0-1,4-5; ranks 2-3 on 2-3,6-7\n");
}

}  // namespace
