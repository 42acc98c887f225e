// Which ranks are on which host, and with how many cores: asked by threads that play the ranks of a job.

#include "common/placement.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <barrier>
#include <numeric>
#include <thread>
#include <vector>

namespace apps {
namespace {

/// What each of the ranks finds out.
std::vector<placement> find(std::vector<seat> const& seats) {
  std::vector<double> given(seats.size());
  std::vector<placement> found(seats.size());
  std::barrier meeting(static_cast<std::ptrdiff_t>(seats.size()));
  auto const run = [&](std::size_t rank) {
    auto const all = [&](auto const& combine) {
      return [&, combine](double mine) {
        given[rank] = mine;
        meeting.arrive_and_wait();
        double const result = combine();
        meeting.arrive_and_wait();
        return result;
      };
    };
    found[rank] =
        find_placement(seats[rank], all([&] { return *std::max_element(given.begin(), given.end()); }),
                       all([&] { return std::accumulate(given.begin(), given.end(), 0.0); }));
  };
  std::vector<std::thread> ranks;
  for (std::size_t rank = 0; rank < seats.size(); ++rank) ranks.emplace_back(run, rank);
  for (std::thread& each : ranks) each.join();
  return found;
}

std::vector<bool> cores(std::initializer_list<std::size_t> usable, std::size_t known) {
  std::vector<bool> all(known);
  for (std::size_t const core : usable) all[core] = true;
  return all;
}

TEST(placement, cores_of_the_same_number_on_several_hosts_are_several) {
  for (placement const& p : find({{0, "a", cores({0, 1}, 2)}, {1, "b", cores({0, 1}, 2)}})) {
    EXPECT_EQ(p.hosts, 2);
    EXPECT_EQ(p.cores, 4);
    EXPECT_EQ(p.text, "a: rank 0; b: rank 1");
  }
}

TEST(placement, cores_that_ranks_of_a_host_share_are_counted_once) {
  for (placement const& p : find({{0, "a", cores({0, 1, 2}, 4)},
                                  {1, "b", cores({69}, 70)},
                                  {2, "a", cores({2}, 4)},
                                  {3, "b", cores({0, 69}, 70)},
                                  {4, "a", cores({2, 3}, 4)}})) {
    EXPECT_EQ(p.hosts, 2);
    EXPECT_EQ(p.cores, 4 + 2);
    EXPECT_EQ(p.text, "a: 3 ranks from 0 on; b: 2 ranks from 1 on");
  }
}

TEST(placement, this_process_has_cores) {
  seat const mine = seat::of_this_process(0);
  auto const alone = [](double value) { return value; };
  EXPECT_EQ(find_placement(mine, alone, alone).cores,
            std::count(mine.usable.begin(), mine.usable.end(), true));
  EXPECT_GT(find_placement(mine, alone, alone).cores, 0);
}

}  // namespace
}  // namespace apps
