// Programs of several processes: that they find each other, and that none waits for one that has failed.

#include "harness/processes.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <new>

namespace atl::bench {
namespace {

using testing::ExitedWithCode;

/// As a program of its own.
template <class Run>
[[noreturn]] void processes_of(int ranks, Run const& run) {
  auto& m = meeting<int>::make();
  group_config config;
  config.ranks = ranks;
  std::exit(run_processes(config, m, [&](group_config const& c) { run(m, c); }));
}

constexpr int numbers[] = {2, 3, 4};

TEST(processes, all_get_what_the_first_has_made_and_meet) {
  auto const meeting_of_all = [](meeting<int>& m, group_config const& c) {
    pid_t const own = getpid();
    bool const right = m.agree(c.rank, [own] { return own; }) == (c.rank == 0 ? own : getppid());
    group g(c);
    g.meet();
    if (!right) std::_Exit(1);
  };
  for (int const ranks : numbers) {
    EXPECT_EXIT(processes_of(ranks, meeting_of_all), ExitedWithCode(0), "") << ranks << " ranks";
  }
}

TEST(processes, nobody_leaves_a_meeting_before_all_have_come) {
  struct counts {
    std::atomic<int> come[100];
  };
  for (int const ranks : numbers) {
    auto& in = *new (map_shared(sizeof(counts))) counts;
    auto const many_meetings = [&in](auto&, group_config const& c) {
      group g(c);
      for (auto& come : in.come) {
        ++come;
        g.meet();
        if (come != c.ranks) std::_Exit(1);
      }
    };
    EXPECT_EXIT(processes_of(ranks, many_meetings), ExitedWithCode(0), "") << ranks << " ranks";
    EXPECT_EQ(in.come[99], ranks);
  }
}

TEST(processes, what_the_first_shares_reaches_all) {
  auto const many_values = [](auto&, group_config const& c) {
    for (std::uint64_t i = 1; i < 100; ++i) {
      std::uint64_t value = c.rank == 0 ? i : 0;
      c.share(value);
      if (value != i) std::_Exit(1);
    }
  };
  EXPECT_EXIT(processes_of(4, many_values), ExitedWithCode(0), "");
}

TEST(processes, all_measure_a_row) {
  for (int const ranks : numbers) {
    auto const one_row = [](auto&, group_config c) {
      c.blocks = 3;
      c.block_us = 10;
      c.give_up_us = 20'000;
      int ran = 0;
      group(c).symmetric({.suite = "s", .key = "k", .name = "n"}, [&](std::uint64_t) { ++ran; });
      if (ran < 3) std::_Exit(1);
    };
    EXPECT_EXIT(processes_of(ranks, one_row), ExitedWithCode(0), "") << ranks << " ranks";
  }
}

TEST(processes, if_one_fails_the_others_do_not_wait_for_it) {
  for (int const ranks : numbers) {
    for (int failing = 0; failing < ranks; ++failing) {
      auto const one_fails = [failing](auto&, group_config const& c) {
        if (c.rank == failing) std::_Exit(3);
        group(c).meet();
      };
      EXPECT_EXIT(processes_of(ranks, one_fails), ExitedWithCode(3), "")
          << "rank " << failing << " of " << ranks;
    }
  }
}

TEST(processes, a_failure_after_others_have_ended_counts_as_well) {
  for (int const ranks : numbers) {
    auto const fails_last = [](auto&, group_config const& c) {
      group(c).meet();
      if (c.rank != c.ranks - 1) return;
      usleep(20'000);
      std::_Exit(3);
    };
    EXPECT_EXIT(processes_of(ranks, fails_last), ExitedWithCode(3), "") << ranks << " ranks";
  }
}

TEST(processes, one_that_is_killed_has_failed) {
  auto const one_dies = [](auto&, group_config const& c) {
    if (c.rank == 1) std::abort();
    group(c).meet();
  };
  EXPECT_EXIT(processes_of(2, one_dies), ExitedWithCode(2), "");
  EXPECT_EXIT(processes_of(4, one_dies), ExitedWithCode(2), "");
}

TEST(processes, sizes_and_how_to_measure_are_read) {
  char const* words[] = {"program",     "device_sizes=8,4096", "blocks=3",
                         "block_us=50", "suites=gpu",          "ranks=4"};
  process_options const o = process_options_of(6, const_cast<char**>(words));
  EXPECT_EQ(o.device_sizes, (std::vector<std::size_t>{8, 4096}));
  EXPECT_EQ(o.config.blocks, 3);
  EXPECT_EQ(o.config.block_us, 50);
  EXPECT_EQ(o.config.ranks, 4);
  process_options const none = process_options_of(1, const_cast<char**>(words));
  EXPECT_EQ(none.device_sizes, (std::vector<std::size_t>{8}));
  EXPECT_EQ(none.config.ranks, 2);
}

}  // namespace
}  // namespace atl::bench
