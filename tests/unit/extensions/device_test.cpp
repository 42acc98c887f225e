// What kernels of different ranks order, looked at by ThreadSanitizer: data are plain memory, and only the calls lie between who
// writes and who reads.

#include <gtest/gtest.h>

#include <atoll/stream_reduction.cuh>

#include "unit/extensions/device_ranks.hpp"

namespace device_ranks {
namespace {

using atl::device_team;

/// Where things lie in each rank's segment.
constexpr std::size_t source = 0;
constexpr std::size_t landing = 1000;
constexpr std::size_t signals = 2000;
constexpr std::size_t pairs = 2100;  // a multiple of 2
constexpr std::size_t counters = 2200;
constexpr std::size_t count = 100;
constexpr std::uint64_t steps = 30;

class device_orders : public testing::TestWithParam<std::tuple<int, reach>> {
 protected:
  device_orders() : ranks_(std::get<0>(GetParam()), std::get<1>(GetParam())) {}
  [[nodiscard]] int right_of(int r) const { return (r + 1) % ranks_.size(); }
  [[nodiscard]] int left_of(int r) const { return (r + ranks_.size() - 1) % ranks_.size(); }
  void count_if(bool wrong) {
    if (wrong) wrong_.fetch_add(1, std::memory_order_relaxed);
  }

  ranks ranks_;
  std::atomic<int> wrong_{0};
};

TEST_P(device_orders, put_signal_and_credit) {
  ranks_.run(1, [this](device_team team, int r) {
    auto const block = on::this_block();
    std::uint64_t* const from = ranks_.here(r, source);
    std::uint64_t const* const ghost = ranks_.here(r, landing);
    for (std::uint64_t step = 1; step <= steps; ++step) {
      // Who answers for the host has read the source when quiet() returns.
      for (std::size_t i = 0; i < count; ++i) from[i] = step * 1000 + i;
      team.put_signal(block, from, ranks_.word(right_of(r), landing), count,
                      ranks_.word(right_of(r), signals), step);
      team.wait(block, ranks_.here(r, signals), step);
      for (std::size_t i = 0; i < count; ++i) count_if(ghost[i] != step * 1000 + i);
      team.quiet(block);
      team.signal(block, ranks_.word(left_of(r), signals + 1), step);
      team.wait(block, ranks_.here(r, signals + 1), step);
    }
  });
  EXPECT_EQ(wrong_, 0);
}

TEST_P(device_orders, put_then_signal_of_a_grid) {
  ranks_.run(3, [this](device_team team, int r) {
    auto const grid = on::this_grid();
    std::uint64_t const* const ghost = ranks_.here(r, landing);
    for (std::uint64_t step = 1; step <= steps; ++step) {
      for (std::size_t i = grid.rank(); i < count; i += grid.size())
        ranks_.here(r, source)[i] = step * 1000 + i;
      grid.sync();
      team.put(grid, ranks_.here(r, source), ranks_.word(right_of(r), landing), count);
      team.signal(grid, ranks_.word(right_of(r), signals), step);
      team.wait(grid, ranks_.here(r, signals), step);
      for (std::size_t i = grid.rank(); i < count; i += grid.size()) count_if(ghost[i] != step * 1000 + i);
      team.barrier(grid);
    }
  });
  EXPECT_EQ(wrong_, 0);
}

TEST_P(device_orders, strided_rows) {
  ranks_.run(2, [this](device_team team, int r) {
    auto const grid = on::this_grid();
    std::uint64_t const* const ghost = ranks_.here(r, landing);
    for (std::uint64_t step = 1; step <= 5; ++step) {
      if (grid.rank() == 0)
        for (std::size_t i = 0; i < count; ++i) ranks_.here(r, source)[i] = step * 1000 + i;
      grid.sync();
      team.put_strided(grid, ranks_.here(r, source), 20, ranks_.word(right_of(r), landing), 31, 7, 5);
      team.signal(grid, ranks_.word(right_of(r), signals), step);
      team.wait(grid, ranks_.here(r, signals), step);
      for (std::size_t i = grid.rank(); i < 35; i += grid.size())
        count_if(ghost[i / 7 * 31 + i % 7] != step * 1000 + i / 7 * 20 + i % 7);
      team.barrier(grid);
    }
  });
  EXPECT_EQ(wrong_, 0);
}

TEST_P(device_orders, rows_that_a_signal_announced) {
  ranks_.run(2, [this](device_team team, int r) {
    auto const grid = on::this_grid();
    std::uint64_t* const into = ranks_.here(r, landing);
    for (std::uint64_t step = 1; step <= 5; ++step) {
      if (grid.rank() == 0)
        for (std::size_t i = 0; i < count; ++i) ranks_.here(r, source)[i] = step * 1000 + i;
      team.signal(grid, ranks_.word(right_of(r), signals), step);
      team.wait(grid, ranks_.here(r, signals), step);
      // From the last row to the first.
      team.get_strided(grid, ranks_.word(left_of(r), source) + 4 * 20, -20, into, 31, 7, 5);
      grid.sync();
      for (std::size_t i = grid.rank(); i < 35; i += grid.size())
        count_if(into[i / 7 * 31 + i % 7] != step * 1000 + (4 - i / 7) * 20 + i % 7);
      team.barrier(grid);
    }
  });
  EXPECT_EQ(wrong_, 0);
}

TEST_P(device_orders, get_what_a_signal_announced) {
  ranks_.run(1, [this](device_team team, int r) {
    auto const block = on::this_block();
    std::uint64_t* const into = ranks_.here(r, landing);
    for (std::uint64_t step = 1; step <= steps; ++step) {
      for (std::size_t i = 0; i < count; ++i) ranks_.here(r, source)[i] = step * 1000 + i;
      team.signal(block, ranks_.word(right_of(r), signals), step);
      team.wait(block, ranks_.here(r, signals), step);
      team.get(block, ranks_.word(left_of(r), source), into, count);
      for (std::size_t i = 0; i < count; ++i) count_if(into[i] != step * 1000 + i);
      team.barrier(block);
    }
  });
  EXPECT_EQ(wrong_, 0);
}

TEST_P(device_orders, values_with_signals) {
  ranks_.run(1, [this](device_team team, int r) {
    std::uint64_t const* const ghost = ranks_.here(r, landing);
    for (std::uint64_t step = 1; step <= steps; ++step) {
      team.put(step * 5, ranks_.word(right_of(r), landing));
      team.fence();
      team.put_signal(step * 7, ranks_.word(right_of(r), landing + 1), ranks_.word(right_of(r), signals),
                      step);
      team.wait(on::this_thread(), ranks_.here(r, signals), step, atl::signal_cmp::equal);
      count_if(ghost[0] != step * 5 || ghost[1] != step * 7);
      team.barrier(on::this_thread());
    }
  });
  EXPECT_EQ(wrong_, 0);
}

TEST_P(device_orders, signals_that_are_waited_for_together) {
  ranks_.run(1, [this](device_team team, int r) {
    auto const n = static_cast<std::size_t>(team.rank_n());
    std::uint64_t* const mine = ranks_.here(r, signals);
    std::vector<std::size_t> which(n);
    for (std::uint64_t step = 1; step <= 5; ++step) {
      for (int to = 0; to < team.rank_n(); ++to) {
        auto const place = static_cast<std::size_t>(r);
        team.put_signal(step + place, ranks_.word(to, landing + place), ranks_.word(to, signals + place),
                        step);
      }
      std::size_t const any = team.wait_any(mine, n, step);
      count_if(ranks_.here(r, landing)[any] != step + any);
      std::size_t const some = team.wait_some(mine, n, step, which.data());
      for (std::size_t i = 0; i < some; ++i) count_if(ranks_.here(r, landing)[which[i]] != step + which[i]);
      team.wait_all(on::this_thread(), mine, n, step);
      for (std::size_t i = 0; i < n; ++i) count_if(ranks_.here(r, landing)[i] != step + i);
      count_if(!team.test(mine, step) || team.fetch(mine) != step);
      team.barrier(on::this_thread());
    }
  });
  EXPECT_EQ(wrong_, 0);
}

TEST_P(device_orders, stamped_values_go_around) {
  ranks_.run(1, [this](device_team team, int r) {
    auto const* const mine = reinterpret_cast<atl::stamped const*>(ranks_.here(r, pairs));
    auto const theirs = upcxx::reinterpret_pointer_cast<atl::stamped>(ranks_.word(right_of(r), pairs));
    for (std::uint64_t step = 1; step <= steps; ++step) {
      if (r == 0) team.put_stamped(step * 10, step, theirs);
      auto const x = team.wait_stamped<std::uint64_t>(mine, step);
      count_if(x != step * 10 + static_cast<std::uint64_t>(r == 0 ? ranks_.size() - 1 : r - 1));
      if (r != 0) team.put_stamped(x + 1, step, theirs);
    }
  });
  EXPECT_EQ(wrong_, 0);
}

TEST_P(device_orders, barriers_order_what_was_put) {
  ranks_.run(2, [this](device_team team, int r) {
    auto const grid = on::this_grid();
    for (std::uint64_t step = 1; step <= steps; ++step) {
      // Whole rows of plain memory; each block writes its own.
      auto const b = on::block::index();
      ranks_.here(r, source)[b] = step;
      grid.sync();
      if (grid.rank() == 0) {
        auto const me = static_cast<std::size_t>(r);
        for (int to = 0; to < team.rank_n(); ++to)
          team.put(on::this_thread(), ranks_.here(r, source), ranks_.word(to, landing + 2 * me), 2);
      }
      team.barrier(grid);
      for (std::size_t i = 0; i < 2 * static_cast<std::size_t>(ranks_.size()); ++i)
        count_if(ranks_.here(r, landing)[i] != step);
      team.barrier(grid);
    }
  });
  EXPECT_EQ(wrong_, 0);
}

TEST_P(device_orders, reductions) {
  ranks_.run(3, [this](device_team team, int r) {
    auto const n = static_cast<std::uint64_t>(team.rank_n());
    for (std::uint64_t step = 1; step <= steps; ++step) {
      auto const sum = team.reduce_all(on::this_grid(), step + static_cast<std::uint64_t>(r),
                                       [](std::uint64_t a, std::uint64_t b) { return a + b; });
      count_if(sum != n * step + n * (n - 1) / 2);
    }
  });
  EXPECT_EQ(wrong_, 0);
}

TEST_P(device_orders, atomics_hand_over_what_was_written) {
  constexpr std::uint64_t times = 20;
  auto const lock = ranks_.word(0, counters);
  auto const total = ranks_.word(0, counters + 1);
  auto const added = ranks_.word(0, counters + 2);
  std::uint64_t plain = 0;  // behind the lock
  ranks_.run(2, [&](device_team team, int) {
    for (std::uint64_t i = 0; i < times; ++i) {
      while (team.compare_exchange(lock, 0, 1) != 0) atl::words::between_looks();
      ++plain;
      team.exchange(lock, 0);
      team.fetch_add(total, 3);
      team.signal(on::this_thread(), added, 2, atl::signal_op::add);
    }
    team.quiet(on::this_thread());
  });
  auto const all = times * 2 * static_cast<std::uint64_t>(ranks_.size());
  EXPECT_EQ(plain, all);
  EXPECT_EQ(*ranks_.here(0, counters + 1), 3 * all);
  EXPECT_EQ(*ranks_.here(0, counters + 2), 2 * all);
}

TEST_P(device_orders, more_is_asked_for_than_the_mailbox_holds) {
  constexpr std::size_t values = 900;
  ranks_.run(2, [&](device_team team, int r) {
    auto const block = on::block::index();
    for (std::size_t i = block; i < values; i += 2) team.put(i + 1, ranks_.word(right_of(r), landing + i));
    team.signal(on::this_thread(), ranks_.word(right_of(r), signals), 1, atl::signal_op::add);
    team.wait(on::this_thread(), ranks_.here(r, signals), 2);
    for (std::size_t i = 0; i < values; ++i) count_if(ranks_.here(r, landing)[i] != i + 1);
  });
  EXPECT_EQ(wrong_, 0);
}

INSTANTIATE_TEST_SUITE_P(, device_orders,
                         testing::Combine(testing::Values(1, 2, 3, 5),
                                          testing::Values(reach::all, reach::own)),
                         [](auto const& each) {
                           return std::to_string(std::get<0>(each.param)) + "_ranks" +
                                  (std::get<1>(each.param) == reach::all ? "" : "_by_host");
                         });

TEST(device_waits, give_up_all_together_when_patience_is_over) {
  ranks some(1, reach::all, 20'000'000);
  std::atomic<int> given_up{0};
  some.run(3, [&](device_team team, int r) {
    auto const block = on::this_block();
    if (on::block::index() == 0) given_up += team.wait(block, some.here(r, signals), 5) ? 0 : 1;
    if (on::block::index() == 1) given_up += team.wait_any(some.here(r, signals), 2, 5) == 2 ? 1 : 0;
    if (on::block::index() == 2) given_up += team.wait_all(block, some.here(r, signals), 2, 5) ? 0 : 1;
  });
  EXPECT_EQ(given_up, 3);
  atl::engine::kernel_trouble const& t = some.box(0).trouble;
  EXPECT_EQ(t.what, static_cast<std::uint64_t>(atl::engine::kernel_trouble::sort::timed_out));
  EXPECT_EQ(t.expected, 5U);
  EXPECT_EQ(t.found, 0U);
  EXPECT_GT(t.waited_ns, 20'000'000U);
}

/// Without patience of their own.
TEST(device_waits, give_up_when_the_host_says_that_nobody_comes_any_more) {
  ranks some(2, reach::own);
  some.stop_hosts();
  std::atomic<int> waiting{0};
  std::atomic<int> given_up{0};
  std::thread host([&] {
    while (waiting.load(std::memory_order_relaxed) != 7) atl::words::between_looks();
    some.end_waits(0);
  });
  some.run(7, [&](device_team team, int r) {
    if (r != 0) return;
    auto const block = on::this_block();
    std::uint64_t* const word = some.here(r, signals);
    auto const* const pair = reinterpret_cast<atl::stamped const*>(some.here(r, pairs));
    bool lost = false;
    ++waiting;
    switch (on::block::index()) {
      case 0:
        lost = !team.wait(block, word, 5);
        break;
      case 1:
        lost = team.wait_any(word, 2, 5) == 2;
        break;
      case 2:
        lost = !team.wait_all(block, word, 2, 5);
        break;
      case 3:
        team.wait_stamped<std::uint64_t>(pair, 1, &lost);
        break;
      case 4:
        lost = !team.barrier(block);
        break;
      case 5:
        team.reduce_all(block, 1, on::plus{}, &lost);
        break;
      default:
        lost = !team.get(block, some.word(1, 0), some.here(0, 5), 1);
    }
    given_up += lost ? 1 : 0;
  });
  host.join();
  EXPECT_EQ(given_up, 7);
  EXPECT_EQ(some.box(0).trouble.what, static_cast<std::uint64_t>(atl::engine::kernel_trouble::sort::none));
}

struct sum_of_two {
  template <class T>
  T operator()(T a, T b) const {
    return a + b;
  }
};

/// Rank 0 does not come. Whoever hears of it late, by others, must not take what they have for the result.
TEST(device_waits, reductions_without_all_ranks_say_so_everywhere) {
  for (int const n : {2, 3, 4, 5}) {
    ranks some(n, reach::all, 20'000'000);
    std::atomic<int> given_up{0};
    some.run(1, [&](device_team team, int r) {
      bool lost = false;
      if (r != 0) team.reduce_all(on::this_thread(), std::uint64_t{1}, sum_of_two{}, &lost);
      given_up += lost ? 1 : 0;
    });
    EXPECT_EQ(given_up, n - 1);
  }
}

TEST(device_waits, all_threads_of_a_grid_hear_that_a_reduction_has_given_up) {
  ranks some(2, reach::all, 20'000'000);
  std::atomic<int> given_up{0};
  some.run(3, [&](device_team team, int r) {
    bool lost = false;
    if (r != 0) team.reduce_all(on::this_grid(), 1, sum_of_two{}, &lost);
    given_up += lost ? 1 : 0;
  });
  EXPECT_EQ(given_up, 3);
}

TEST(device_waits, reductions_that_succeed_leave_the_flag_alone) {
  ranks some(5, reach::all, 20'000'000'000);
  std::atomic<int> wrong{0};
  some.run(2, [&](device_team team, int) {
    bool lost = false;
    for (int i = 0; i < 10; ++i)
      wrong += team.reduce_all(on::this_grid(), i, sum_of_two{}, &lost) == 5 * i ? 0 : 1;
    wrong += lost ? 1 : 0;
  });
  EXPECT_EQ(wrong, 0);
}

/// Nor has it said where its array is; and nobody takes what its elements would lie in for them. `few`: the way in which it goes.
void reduce_without_rank_0(std::size_t few) {
  ranks some(2, reach::all, 20'000'000);
  constexpr std::size_t n = count;
  for (std::size_t i = 0; i < n; ++i) *some.here(1, landing + i) = 77;
  std::array<std::vector<atl::stamped>, 2> memory;
  for (auto& each : memory) each.resize(on::reduction_view::bytes(2, few) / sizeof(atl::stamped) + 1);
  std::uint64_t const peers[] = {reinterpret_cast<std::uint64_t>(memory[0].data()),
                                 reinterpret_cast<std::uint64_t>(memory[1].data())};
  on::reduction_view view;
  view.peers = peers;
  view.few = few;
  some.run(2, [&](device_team team, int r) {
    if (r == 0) return;
    if (few != 0) {
      return on::reduce_few<std::uint64_t, on::plus>()(team, view, some.here(r, source),
                                                       some.here(r, landing), n, -1, on::plus{});
    }
    auto const place = [&](std::size_t i) { return access::address(some.word(r, i)) - peers[r]; };
    on::reduce_many<std::uint64_t, on::plus>()(team, view, place(source), place(landing), n, -1, on::plus{});
  });
  EXPECT_EQ(some.box(1).trouble.what,
            static_cast<std::uint64_t>(atl::engine::kernel_trouble::sort::timed_out));
  for (std::size_t i = 0; i < n; ++i) EXPECT_EQ(*some.here(1, landing + i), 77U);
}
TEST(device_waits, arrays_are_not_reduced_without_all_ranks) { reduce_without_rank_0(0); }
TEST(device_waits, few_elements_are_not_reduced_without_all_ranks) { reduce_without_rank_0(count); }

/// What the host of a rank is asked for takes longer than the rank's patience.
TEST(device_waits, what_the_host_does_not_do_is_said) {
  ranks some(2, reach::own, 20'000'000);
  some.stop_hosts();
  std::atomic<int> given_up{0};
  some.run(1, [&](device_team team, int r) {
    if (r != 0) return;
    bool lost[5] = {};
    team.fetch_add(some.word(1, 0), 1, &lost[0]);
    team.exchange(some.word(1, 0), 1, &lost[1]);
    team.compare_exchange(some.word(1, 0), 0, 1, &lost[2]);
    team.load(some.word(1, 0), &lost[3]);
    static_cast<void>(team.get(some.word(1, 0), &lost[4]));
    for (bool const each : lost) given_up += each ? 1 : 0;
    given_up += team.get(on::this_block(), some.word(1, 0), some.here(0, 5), 1) ? 0 : 1;
    given_up += team.fence() ? 0 : 1;
    given_up += team.quiet(on::this_block()) ? 0 : 1;
    given_up += team.barrier(on::this_block()) ? 0 : 1;
  });
  EXPECT_EQ(given_up, 9);
}

/// Zero would mean that the wait was given up.
TEST(device_waits, one_that_has_come_counts_also_if_it_is_overwritten_then) {
  ranks some(1, reach::all);
  constexpr std::size_t n = 2000;  // the one that comes is looked at last, a while after it was seen
  std::atomic<bool> ended{false};
  int none = 0;
  some.run(2, [&](device_team team, int r) {
    std::uint64_t* const word = some.here(r, signals) + n - 1;
    if (on::block::index() == 0) {
      for (std::uint64_t i = 0; !ended.load(std::memory_order_relaxed); ++i)
        atl::words::store_release(word, i % 2);
      return;
    }
    std::vector<std::size_t> which(n);
    for (int i = 0; i < 2000; ++i)
      none += team.wait_some(word + 1 - n, n, 1, which.data(), atl::signal_cmp::equal) == 1 ? 0 : 1;
    ended.store(true, std::memory_order_relaxed);
  });
  EXPECT_EQ(none, 0);
}

TEST(device_waits, nothing_is_waited_for_if_there_are_no_signals) {
  ranks some(1, reach::all);
  some.run(1, [&](device_team team, int r) {
    std::size_t which = 7;
    EXPECT_EQ(team.wait_any(some.here(r, signals), 0, 1), 0U);
    EXPECT_EQ(team.wait_some(some.here(r, signals), 0, 1, &which), 0U);
    EXPECT_TRUE(team.wait_all(on::this_block(), some.here(r, signals), 0, 1));
    EXPECT_EQ(which, 7U);
  });
}

/// A team may end before its persona is taken up again.
TEST(device_notices, come_also_when_the_team_has_ended) {
  atl::rt::persona_state persona;
  auto team = std::make_unique<on::team_state>();
  team->persona = &persona;
  std::vector<std::uint64_t> heard;
  team->handlers->set(4, [&heard](std::int32_t from, std::uint64_t argument) {
    heard.push_back(argument + static_cast<std::uint64_t>(from));
  });
  team->told(team.get(), 3, 4, 50);
  team.reset();
  atl::rt::task* const notice = persona.inbox.load();
  ASSERT_NE(notice, nullptr);
  EXPECT_TRUE(heard.empty());
  notice->run(notice);
  EXPECT_EQ(heard, std::vector<std::uint64_t>{53});
}

TEST_P(device_orders, no_objects_are_copied_and_signals_come_all_the_same) {
  ranks_.run(1, [&](device_team team, int r) {
    auto const block = on::this_block();
    words_ptr const nowhere;
    std::uint64_t* const nothing = nullptr;
    team.put(block, nothing, nowhere, 0);
    EXPECT_TRUE(team.get(block, nowhere, nothing, 0));
    team.put_strided(block, nothing, 1, nowhere, 1, 0, 5);
    team.put_strided(block, nothing, 1, nowhere, 1, 5, 0);
    EXPECT_TRUE(team.get_strided(block, nowhere, 1, nothing, 1, 0, 5));
    EXPECT_TRUE(team.get_strided(block, nowhere, 1, nothing, 1, 5, 0));
    team.put_signal(block, nothing, nowhere, 0, ranks_.word(right_of(r), signals), 3);
    EXPECT_TRUE(team.wait(block, ranks_.here(r, signals), 3));
  });
}

TEST(device_waits, ranks_beyond_those_in_the_handle_are_found_in_tables) {
  ranks many(9, reach::all);
  std::atomic<int> wrong{0};
  many.run(1, [&](device_team team, int r) {
    for (int to = 0; to < 9; ++to) {
      auto const place = static_cast<std::size_t>(r);
      team.put_signal(place + 1, many.word(to, landing + place), many.word(to, signals + place), 1);
    }
    team.wait_all(on::this_thread(), many.here(r, signals), 9, 1);
    for (std::size_t i = 0; i < 9; ++i) wrong += many.here(r, landing)[i] == i + 1 ? 0 : 1;
    auto const sum =
        team.reduce_all(on::this_thread(), std::uint64_t{1}, [](auto a, auto b) { return a + b; });
    wrong += sum == 9 ? 0 : 1;
  });
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace device_ranks
