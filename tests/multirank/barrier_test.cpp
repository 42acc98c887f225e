// barrier and barrier_async (parallel digest, 3.2).

#include <algorithm>

#include "common.hpp"

namespace {
int arrived;
}

using barrier_test = multirank::fixture;

TEST_F(barrier_test, no_rank_leaves_before_the_last_one_enters) {
  multirank::shared_array<int> rounds(static_cast<std::size_t>(n));
  std::fill_n(rounds.local(), n, -1);
  upcxx::barrier();
  for (int round = 0; round < 200; ++round) {
    // One rank is late in each round.
    if (round % n == me) {
      multirank::poll(20);
    }
    for (int r = 0; r < n; ++r) {
      upcxx::rput(round, rounds.at(r) + me).wait();
    }
    upcxx::barrier();
    int behind = 0;
    for (int r = 0; r < n; ++r) {
      behind += rounds.local()[r] < round ? 1 : 0;
    }
    EXPECT_EQ(behind, 0) << "round " << round;
    upcxx::barrier();
  }
}

TEST_F(barrier_test, plain_stores_before_are_visible_after) {
  multirank::shared_array<int> cell(1);
  for (int round = 0; round < 500; ++round) {
    *cell.local() = round * 10 + me;
    upcxx::barrier();
    for (int r = 0; r < n; ++r) {
      if (cell.at(r).is_local()) {
        ASSERT_EQ(*cell.at(r).local(), round * 10 + r);
      }
    }
    upcxx::barrier();
  }
}

TEST_F(barrier_test, waiting_ranks_serve_calls) {
  if (me == 0) {
    // Everyone else is already inside the barrier, or will serve from there.
    for (int i = 0; i < 100; ++i) {
      for (int r = 0; r < n; ++r) {
        EXPECT_EQ(upcxx::rpc(
                      r, [](int x) { return x + upcxx::rank_me(); }, i)
                      .wait(),
                  i + r);
      }
    }
  }
  upcxx::barrier();
}

TEST_F(barrier_test, async_is_not_ready_before_the_last_rank_enters) {
  arrived = 0;
  upcxx::barrier();
  if (me != 0) {
    upcxx::future<> f = upcxx::barrier_async();
    multirank::poll();
    EXPECT_FALSE(f.ready());
    upcxx::rpc_ff(0, [] { ++arrived; });
    f.wait();
  } else {
    multirank::spin_until([this] { return arrived == n - 1; });
    upcxx::barrier_async().wait();
  }
}

TEST_F(barrier_test, many_async_barriers_are_in_flight_together) {
  std::vector<upcxx::future<>> all;
  for (int i = 0; i < 200; ++i) {
    all.push_back(upcxx::barrier_async());
  }
  upcxx::barrier();  // a blocking one passes among them
  for (int i = 199; i >= 0; --i) {
    all[static_cast<std::size_t>(i)].wait();
  }
}

TEST_F(barrier_test, communication_overlaps_an_async_barrier) {
  multirank::shared_array<int> cells(100);
  for (int round = 0; round < 20; ++round) {
    upcxx::future<> f = upcxx::barrier_async();
    upcxx::promise<> puts;
    for (int i = 0; i < 100; ++i) {
      upcxx::rput(round + i, cells.at(right) + i, upcxx::operation_cx::as_promise(puts));
    }
    int const answer = upcxx::rpc(
                           left, [](int x) { return x * 2; }, round)
                           .wait();
    EXPECT_EQ(answer, round * 2);
    upcxx::when_all(f, puts.finalize()).wait();
    upcxx::barrier();
    EXPECT_EQ(cells.local()[50], round + 50);
    upcxx::barrier();
  }
}

TEST_F(barrier_test, local_team_has_barriers_of_its_own) {
  multirank::shared_array<int> cell(1);
  for (int round = 0; round < 100; ++round) {
    *cell.local() = round;
    upcxx::barrier(upcxx::local_team());
    upcxx::team& local = upcxx::local_team();
    for (int r = 0; r < local.rank_n(); ++r) {
      EXPECT_EQ(*cell.at(local[r]).local(), round);
    }
    upcxx::barrier_async(local).wait();
  }
}

namespace {

/// Calls served here, by sender. Counted from the start of the program: senders may be a barrier ahead.
long served_from[16];
long bytes_from[16];

void serve(int sender) { ++served_from[sender]; }

/// How many members of `team` on this host have been served less than `times` times. Between hosts a barrier may be
/// over before calls have come.
int missing(upcxx::team const& team, long times) {
  int count = 0;
  for (int r = 0; r < team.rank_n(); ++r) {
    count += upcxx::local_team_contains(team[r]) && served_from[team[r]] < times ? 1 : 0;
  }
  return count;
}

}  // namespace

TEST_F(barrier_test, calls_that_were_sent_before_have_run_after) {
  std::fill_n(served_from, 16, 0L);
  upcxx::barrier();
  int behind = 0;
  for (int round = 1; round <= 500; ++round) {
    for (int r = 0; r < n; ++r) upcxx::rpc_ff(r, serve, me);
    // Sometimes they have been taken in, but not run, before the barrier.
    if (round % 3 == me % 3) upcxx::progress(upcxx::progress_level::internal);
    upcxx::barrier();
    behind += missing(upcxx::world(), round);
  }
  EXPECT_EQ(behind, 0);
}

TEST_F(barrier_test, calls_that_were_sent_before_have_run_after_on_any_way) {
  upcxx::team split = upcxx::world().split(me % 2, me);
  std::fill_n(served_from, 16, 0L);
  upcxx::barrier();
  int behind = 0;
  for (int round = 1; round <= 100; ++round) {
    for (int r = 0; r < split.rank_n(); ++r) upcxx::rpc_ff(split[r], serve, me);
    upcxx::barrier(split);
    behind += missing(split, 2 * round - 1);
    // By messages or in a queue: another barrier is open.
    upcxx::future<> open = upcxx::barrier_async(split);
    for (int r = 0; r < split.rank_n(); ++r) upcxx::rpc_ff(split[r], serve, me);
    upcxx::barrier(split);
    behind += missing(split, 2 * round);
    open.wait();
  }
  EXPECT_EQ(behind, 0);
  upcxx::barrier();
  split.destroy();
}

TEST_F(barrier_test, calls_of_any_size_that_were_sent_before_have_run_after) {
  std::fill_n(bytes_from, 16, 0L);
  upcxx::barrier();
  long expected = 0;
  for (std::size_t const bytes : {100UL, 3'000UL, 100'000UL, 3'000'000UL, 12'000'000UL}) {
    std::vector<char> const data(bytes, 'x');
    for (int r = 0; r < n; ++r) {
      upcxx::rpc_ff(
          r,
          [](int sender, upcxx::view<char> view) {
            bytes_from[sender] += std::count(view.begin(), view.end(), 'x');
          },
          me, upcxx::make_view(data));
    }
    expected += static_cast<long>(bytes);
    upcxx::barrier();
    // Inside a host: between hosts a barrier does not wait for calls.
    for (int r = 0; r < n; ++r) {
      if (upcxx::local_team_contains(r)) {
        EXPECT_GE(bytes_from[r], expected) << bytes << " bytes from rank " << r;
      }
    }
  }
  multirank::spin_until(
      [&] { return std::all_of(bytes_from, bytes_from + n, [&](long b) { return b >= expected; }); });
  upcxx::barrier();
}

TEST_F(barrier_test, calls_that_callbacks_have_left_waiting_have_run_after) {
  std::fill_n(served_from, 16, 0L);
  upcxx::barrier();
  // More than the ring takes: in callbacks the rest is parked.
  constexpr int calls = 5000;
  upcxx::current_persona()
      .lpc([this] {
        for (int i = 0; i < calls; ++i) upcxx::rpc_ff(right, serve, me);
      })
      .wait();
  upcxx::barrier();
  if (!upcxx::local_team_contains(left)) multirank::spin_until([this] { return served_from[left] == calls; });
  EXPECT_EQ(served_from[left], calls);
}
