// Teams that programs make: split, create, destroy, moves, ids, and calls and objects over them (parallel
// digest, chapters 2 and 5).

#include <algorithm>
#include <array>
#include <list>
#include <numeric>
#include <set>
#include <string>

#include "common.hpp"

namespace {

using upcxx::intrank_t;
using upcxx::team;

/// World ranks of a team, by asking every member.
std::vector<int> members_of(team const& t) {
  std::vector<int> result;
  for (int r = 0; r < t.rank_n(); ++r) {
    result.push_back(upcxx::rpc(t, r, [] { return upcxx::rank_me(); }).wait());
  }
  return result;
}

void expect_translation(team const& t, std::vector<int> const& world_ranks) {
  ASSERT_EQ(t.rank_n(), static_cast<int>(world_ranks.size()));
  EXPECT_EQ(t[t.rank_me()], upcxx::rank_me());
  for (int r = 0; r < t.rank_n(); ++r) {
    int const w = world_ranks[static_cast<std::size_t>(r)];
    EXPECT_EQ(t[r], w);
    EXPECT_EQ(t.from_world(w), r);
  }
  for (int w = 0; w < upcxx::rank_n(); ++w) {
    bool const inside = std::find(world_ranks.begin(), world_ranks.end(), w) != world_ranks.end();
    EXPECT_EQ(t.from_world(w, -5) >= 0, inside);
  }
}

/// Every collective once, for teams of any shape.
void expect_collectives(team const& t) {
  int const me = t.rank_me();
  int const n = t.rank_n();
  upcxx::barrier(t);
  EXPECT_EQ(upcxx::reduce_all(me + 1, upcxx::op_fast_add, t).wait(), n * (n + 1) / 2);
  for (int root = 0; root < n; ++root) {
    EXPECT_EQ(upcxx::broadcast(me * 10, root, t).wait(), root * 10);
    int const sum = upcxx::reduce_one(me, upcxx::op_fast_add, root, t).wait();
    if (me == root) {
      EXPECT_EQ(sum, n * (n - 1) / 2);
    }
  }
  for (std::size_t const size : {0, 1, 9, 300, 6000}) {
    std::vector<long> data(size, me);
    upcxx::reduce_all(
        data.data(), data.data(), size, [](long a, long b) { return a + b; }, t)
        .wait();
    EXPECT_EQ(data, std::vector<long>(size, n * (n - 1L) / 2));
  }
  upcxx::barrier_async(t).wait();
}

int row_of(int rank) { return rank / 2; }

}  // namespace

using team_split_test = multirank::fixture;

TEST_F(team_split_test, colors_and_keys_decide_members_and_order) {
  team halves = upcxx::world().split(me % 2, -me);  // descending
  std::vector<int> expected;
  for (int r = n - 1; r >= 0; --r) {
    if (r % 2 == me % 2) expected.push_back(r);
  }
  expect_translation(halves, expected);
  EXPECT_EQ(members_of(halves), expected);
  expect_collectives(halves);
  halves.destroy();
  EXPECT_FALSE(halves.is_active());

  team all = upcxx::world().split(7, 0);  // ties
  std::vector<int> everyone(static_cast<std::size_t>(n));
  std::iota(everyone.begin(), everyone.end(), 0);
  expect_translation(all, everyone);
  expect_collectives(all);
  all.destroy(upcxx::entry_barrier::internal);

  team shuffled = upcxx::world().split(0, me * 7 % 5);  // no even spacing
  std::vector<int> order = everyone;
  std::stable_sort(order.begin(), order.end(), [](int a, int b) { return a * 7 % 5 < b * 7 % 5; });
  expect_translation(shuffled, order);
  expect_collectives(shuffled);
  shuffled.destroy(upcxx::entry_barrier::none);
}

TEST_F(team_split_test, who_gives_no_color_is_in_no_team) {
  team t = upcxx::world().split(me == 0 ? team::color_none : 1, me);
  EXPECT_EQ(t.is_active(), me != 0);
  if (me != 0) {
    EXPECT_EQ(t.rank_n(), n - 1);
    EXPECT_EQ(t.rank_me(), me - 1);
    expect_collectives(t);
    t.destroy();
  }
  team nobody = upcxx::world().split(team::color_none, 0);
  EXPECT_FALSE(nobody.is_active());
  EXPECT_EQ(nobody.rank_n(), 0);
  EXPECT_EQ(nobody.rank_me(), -1);
  EXPECT_EQ(nobody.from_world(me, -7), -7);
  EXPECT_EQ(nobody.id(), upcxx::team_id());
  nobody.destroy();
  nobody.destroy(upcxx::entry_barrier::none);
  EXPECT_FALSE(nobody.is_active());
}

TEST_F(team_split_test, lists_of_ranks_make_teams) {
  // Two disjoint teams in one call, the second in descending order, and rank n - 1 in neither.
  std::list<short> low;
  std::vector<std::size_t> high;
  for (int r = 0; r < n - 1; ++r) {
    if (r < n / 2) {
      low.push_back(static_cast<short>(r));
    } else {
      high.insert(high.begin(), static_cast<std::size_t>(r));
    }
  }
  team t = me < n / 2 ? upcxx::world().create(low)
                      : upcxx::world().create(high.begin(), me == n - 1 ? high.begin() : high.end());
  EXPECT_EQ(t.is_active(), me < n - 1);
  if (t.is_active()) {
    expect_translation(t, me < n / 2 ? std::vector<int>(low.begin(), low.end())
                                     : std::vector<int>(high.begin(), high.end()));
    expect_collectives(t);
    // Ranks in lists are ranks of the parent.
    std::array<int, 1> const last{t.rank_n() - 1};
    team leader = t.create(last);
    EXPECT_EQ(leader.is_active(), t.rank_me() == last[0]);
    if (leader.is_active()) {
      EXPECT_EQ(leader[0], me);
      leader.destroy();
    }
    t.destroy();
  }
}

TEST_F(team_split_test, splits_nest) {
  team half = upcxx::world().split(me % 2, me);
  team quarter = half.split(half.rank_me() % 2, 0);
  expect_collectives(quarter);
  EXPECT_EQ(quarter[quarter.rank_me()], me);
  for (int r = 1; r < quarter.rank_n(); ++r) EXPECT_EQ(quarter[r] - quarter[r - 1], 4);
  half.destroy();
  expect_collectives(quarter);  // outlives its parent
  quarter.destroy();
}

TEST_F(team_split_test, ids_are_equal_on_members_and_unique) {
  std::vector<team> teams;
  std::set<upcxx::team_id> ids{upcxx::world().id(), upcxx::local_team().id(), upcxx::team_id()};
  for (int i = 0; i < 20; ++i) {  // more than there are channels in shared memory
    teams.push_back(upcxx::world().split(i % 3 == 0 ? me : i % 3 == 1 ? me % 2 : 0, me));
    EXPECT_TRUE(ids.insert(teams.back().id()).second);
    EXPECT_EQ(upcxx::broadcast(teams.back().id(), 0, teams.back()).wait(), teams.back().id());
  }
  if (n > 1) {  // also of teams that have no member in common
    EXPECT_EQ(upcxx::broadcast(teams[1].id(), 1).wait() == teams[1].id(), me % 2 == 1);
  }
  for (team& t : teams) {
    EXPECT_EQ(&t.id().here(), &t) << "vectors move their elements";
    EXPECT_EQ(&t.id().when_here().wait(), &t);
    EXPECT_EQ(upcxx::reduce_all(t.rank_me(), upcxx::op_fast_max, t).wait(), t.rank_n() - 1);
    t.destroy();
  }
}

TEST_F(team_split_test, ids_follow_the_object_that_moves) {
  team first = upcxx::world().split(0, me);
  upcxx::team_id const id = first.id();
  EXPECT_EQ(&id.here(), &first);
  team second(std::move(first));
  EXPECT_FALSE(first.is_active());
  EXPECT_EQ(&id.here(), &second);
  team third;
  EXPECT_FALSE(third.is_active());
  third = std::move(second);
  EXPECT_EQ(&id.here(), &third);
  third = static_cast<team&&>(third);
  EXPECT_TRUE(third.is_active());
  upcxx::dist_object<int> number(third, me * 3);
  team fourth = std::move(third);
  EXPECT_EQ(&number.team(), &fourth);
  EXPECT_EQ(&std::as_const(number).team(), &fourth);
  EXPECT_EQ(number.fetch(right).wait(), right * 3);
  upcxx::barrier(fourth);
  fourth.destroy();
  fourth = upcxx::world().split(1, 0);  // a destroyed one may be assigned to
  EXPECT_NE(fourth.id(), id);
  fourth.destroy();
}

TEST_F(team_split_test, calls_that_name_a_team_wait_until_it_exists) {
  static int run;
  run = 0;
  upcxx::barrier();
  int expected = 0;
  for (int round = 0; round < 30; ++round) {
    team t = upcxx::world().split(0, round % 2 == 0 ? me : -me);
    // Some are still inside split.
    for (int r = 0; r < n; ++r) {
      upcxx::rpc_ff(
          t, r,
          [](team& there, team const& all, upcxx::team_id id, int sender) {
            run += &id.here() == &there && &all == &upcxx::world() && there.from_world(sender) >= 0 ? 1 : 0;
          },
          t, upcxx::world(), t.id(), me);
    }
    expected += n;
    multirank::spin_until([&] { return run >= expected; });
    upcxx::barrier(t);
    t.destroy();
  }
  EXPECT_EQ(run, expected);
}

TEST_F(team_split_test, members_serve_calls_while_they_wait) {
  for (auto const level : {upcxx::entry_barrier::user, upcxx::entry_barrier::none}) {
    if (me == n - 1) {
      EXPECT_EQ(upcxx::rpc(0, [] { return 17; }).wait(), 17);  // rank 0 is inside split already
    }
    team t = upcxx::world().split(0, me);
    if (me == n - 1) {
      EXPECT_EQ(upcxx::rpc(0, [] { return 18; }).wait(), 18);  // or inside destroy
    }
    if (level == upcxx::entry_barrier::none) upcxx::barrier(t);
    t.destroy(level);
  }
}

TEST_F(team_split_test, objects_and_calls_use_ranks_of_their_team) {
  team t = upcxx::world().split(me % 2, -me);
  int const mine = t.rank_me();
  int const size = t.rank_n();
  upcxx::dist_object<std::string> name(t, "member " + std::to_string(me));
  upcxx::dist_object<int> number(me, t);
  for (int r = 0; r < size; ++r) {
    EXPECT_EQ(name.fetch(r).wait(), "member " + std::to_string(t[r]));
    int const got =
        upcxx::rpc(
            t, r, [](upcxx::dist_object<int>& d, team& over) { return &d.team() == &over ? *d : -1; }, number,
            t)
            .wait();
    EXPECT_EQ(got, t[r]);
  }
  upcxx::barrier(t);
  EXPECT_EQ(upcxx::reduce_all(mine, upcxx::op_fast_max, t).wait(), size - 1);
  name = upcxx::dist_object<std::string>();  // destroyed before its team
  upcxx::barrier(t);
  t.destroy();
}

TEST_F(team_split_test, collectives_of_overlapping_teams_are_in_flight_together) {
  team row = upcxx::world().split(row_of(me), me);
  team column = upcxx::world().split(me % 2, me);
  team reversed = upcxx::world().split(0, -me);
  std::vector<upcxx::future<int>> values;
  std::vector<int> expected;
  std::vector<std::vector<int>> arrays(120);
  upcxx::promise<> done;
  for (int i = 0; i < 120; ++i) {
    team const& t = i % 4 == 0 ? row : i % 4 == 1 ? column : i % 4 == 2 ? reversed : upcxx::world();
    int const size = t.rank_n();
    int const root = i % size;
    auto& a = arrays[static_cast<std::size_t>(i)];
    a.assign(static_cast<std::size_t>(i) * 11, t.rank_me());
    switch (i / 4 % 5) {
      case 0:
        values.push_back(upcxx::reduce_all(t.rank_me() + i, upcxx::op_fast_add, t));
        expected.push_back(size * (size - 1) / 2 + size * i);
        break;
      case 1:
        values.push_back(upcxx::broadcast(t.rank_me() * 1000 + i, root, t));
        expected.push_back(root * 1000 + i);
        break;
      case 2:
        upcxx::barrier_async(t, upcxx::operation_cx::as_promise(done));
        break;
      case 3:
        upcxx::reduce_all(a.data(), a.data(), a.size(), upcxx::op_fast_max, t,
                          upcxx::operation_cx::as_promise(done));
        break;
      default:
        upcxx::reduce_one(a.data(), a.data(), a.size(), upcxx::op_fast_max, root, t,
                          upcxx::operation_cx::as_promise(done));
        break;
    }
  }
  for (std::size_t i = values.size(); i-- > 0;) EXPECT_EQ(values[i].wait(), expected[i]);
  done.finalize().wait();
  for (int i = 0; i < 120; ++i) {
    team const& t = i % 4 == 0 ? row : i % 4 == 1 ? column : i % 4 == 2 ? reversed : upcxx::world();
    auto const& a = arrays[static_cast<std::size_t>(i)];
    if (i / 4 % 5 == 3 || (i / 4 % 5 == 4 && t.rank_me() == i % t.rank_n())) {
      EXPECT_EQ(a, std::vector<int>(a.size(), t.rank_n() - 1));
    }
  }
  reversed.destroy();
  column.destroy();
  row.destroy();
}

TEST_F(team_split_test, teams_come_and_go) {
  // Channels are used again and again, also when nobody waits at the end of a team.
  for (int round = 0; round < 60; ++round) {
    team t = upcxx::world().split(me % (1 + round % 3), me);
    for (int i = 0; i < round % 4; ++i) upcxx::barrier(t);
    EXPECT_EQ(upcxx::reduce_all(1, upcxx::op_fast_add, t).wait(), t.rank_n());
    t.destroy(round % 2 == 0 ? upcxx::entry_barrier::none : upcxx::entry_barrier::user);
  }
}

TEST_F(team_split_test, larger_reductions_where_transit_memory_is_used_up) {
  team t = upcxx::world().split(0, me);
  std::vector<double> data(300'000);
  for (int round = 0; round < 3; ++round) {
    std::iota(data.begin(), data.end(), me);
    upcxx::reduce_all(data.data(), data.data(), data.size(), upcxx::op_fast_add, t).wait();
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < data.size(); ++i) {
      wrong += data[i] != n * static_cast<double>(i) + n * (n - 1) / 2 ? 1 : 0;
    }
    EXPECT_EQ(wrong, 0u);
  }
  t.destroy();
}
