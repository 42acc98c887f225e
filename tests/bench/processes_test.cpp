// Programs of two processes: that both find each other, and that none waits for one that has failed.

#include "harness/processes.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>

namespace atl::bench {
namespace {

using testing::ExitedWithCode;

/// As a program of its own.
template <class Run>
[[noreturn]] void pair_of(Run const& run) {
  auto& m = meeting<int>::make();
  std::exit(run_pair({}, m.lines, [&](group_config const& c) { run(m, c); }));
}

TEST(processes, both_get_what_the_first_has_made_and_meet) {
  auto const meeting_of_both = [](meeting<int>& m, group_config const& c) {
    pid_t const own = getpid();
    bool const right = m.agree(c.rank, [own] { return own; }) == (c.rank == 0 ? own : getppid());
    group g(c);
    g.meet();
    if (!right || c.ranks != 2) std::_Exit(1);
  };
  EXPECT_EXIT(pair_of(meeting_of_both), ExitedWithCode(0), "");
}

TEST(processes, if_one_fails_the_other_does_not_wait_for_it) {
  for (int const failing : {0, 1}) {
    auto const one_fails = [failing](auto&, group_config const& c) {
      if (c.rank == failing) std::_Exit(3);
      group(c).meet();
    };
    EXPECT_EXIT(pair_of(one_fails), ExitedWithCode(3), "") << "rank " << failing;
  }
}

TEST(processes, a_failure_after_the_other_has_ended_counts_as_well) {
  auto const fails_last = [](auto&, group_config const& c) {
    group(c).meet();
    if (c.rank == 1) std::_Exit(3);
  };
  EXPECT_EXIT(pair_of(fails_last), ExitedWithCode(3), "");
}

TEST(processes, one_that_is_killed_has_failed) {
  auto const one_dies = [](auto&, group_config const& c) {
    if (c.rank == 1) std::abort();
    group(c).meet();
  };
  EXPECT_EXIT(pair_of(one_dies), ExitedWithCode(2), "");
}

TEST(processes, sizes_and_how_to_measure_are_read) {
  char const* words[] = {"program", "device_sizes=8,4096", "blocks=3", "block_us=50", "suites=gpu"};
  pair_options const o = pair_options_of(5, const_cast<char**>(words));
  EXPECT_EQ(o.device_sizes, (std::vector<std::size_t>{8, 4096}));
  EXPECT_EQ(o.config.blocks, 3);
  EXPECT_EQ(o.config.block_us, 50);
  EXPECT_EQ(pair_options_of(1, const_cast<char**>(words)).device_sizes, (std::vector<std::size_t>{8}));
}

}  // namespace
}  // namespace atl::bench
