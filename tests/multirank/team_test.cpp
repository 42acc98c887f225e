// world and local_team: ranks, translation, positions and ids (parallel digest, chapter 2).

#include <unistd.h>

#include <array>
#include <cstdlib>
#include <map>
#include <unordered_set>

#include "common.hpp"

namespace {

/// As the system says it, not the library.
bool all_have_one_host_name() {
  std::array<char, 256> mine{};
  gethostname(mine.data(), mine.size() - 1);
  auto first = mine;
  upcxx::broadcast(first.data(), first.size(), 0).wait();
  return upcxx::reduce_all(mine == first ? 1 : 0, upcxx::op_fast_min).wait() == 1;
}

}  // namespace

using team_test = multirank::fixture;

TEST_F(team_test, world_numbers_its_ranks_by_themselves) {
  upcxx::team& world = upcxx::world();
  EXPECT_EQ(world.rank_me(), me);
  EXPECT_EQ(world.rank_n(), n);
  for (int r = 0; r < n; ++r) {
    EXPECT_EQ(world[r], r);
    EXPECT_EQ(world.from_world(r), r);
    EXPECT_EQ(world.from_world(r, -1), r);
  }
}

TEST_F(team_test, local_team_translates_both_ways) {
  upcxx::team& local = upcxx::local_team();
  EXPECT_GE(local.rank_n(), 1);
  EXPECT_LE(local.rank_n(), n);
  EXPECT_EQ(local[local.rank_me()], me);
  for (int r = 0; r < local.rank_n(); ++r) {
    EXPECT_EQ(local.from_world(local[r]), r);
    EXPECT_TRUE(upcxx::local_team_contains(local[r]));
  }
  int members = 0;
  for (int w = 0; w < n; ++w) {
    bool const inside = local.from_world(w, -1) >= 0;
    EXPECT_EQ(upcxx::local_team_contains(w), inside);
    members += inside ? 1 : 0;
    if (!inside) {
      EXPECT_EQ(local.from_world(w, -77), -77);
    }
  }
  EXPECT_EQ(members, local.rank_n());
}

TEST_F(team_test, local_team_members_ascend_in_world) {
  upcxx::team& local = upcxx::local_team();
  for (int r = 1; r < local.rank_n(); ++r) {
    EXPECT_GT(local[r], local[r - 1]);
  }
}

TEST_F(team_test, local_team_position_is_shared_by_exactly_the_members) {
  std::pair<upcxx::intrank_t, upcxx::intrank_t> const position = upcxx::local_team_position();
  EXPECT_GE(position.first, 0);
  EXPECT_LT(position.first, position.second);
  for (int r = 0; r < n; ++r) {
    auto const theirs = upcxx::rpc(r, [] { return upcxx::local_team_position(); }).wait();
    EXPECT_EQ(theirs.second, position.second);
    EXPECT_EQ(theirs.first == position.first, upcxx::local_team_contains(r));
  }
}

TEST_F(team_test, ranks_started_by_one_launcher_on_one_host_share_memory) {
  if (std::getenv("ATOLL_SIM_HOSTS") != nullptr) GTEST_SKIP() << "hosts are simulated";
  if (!all_have_one_host_name()) GTEST_SKIP() << "there are several hosts";
  EXPECT_EQ(upcxx::local_team().rank_n(), n);
  EXPECT_EQ(upcxx::local_team_position().second, 1);
}

TEST_F(team_test, ids_are_equal_on_all_ranks_and_differ_between_teams) {
  upcxx::team_id const world_id = upcxx::world().id();
  upcxx::team_id const local_id = upcxx::local_team().id();
  EXPECT_TRUE(world_id == upcxx::world().id());
  EXPECT_TRUE(world_id != local_id);
  EXPECT_TRUE(world_id < local_id || local_id < world_id);
  EXPECT_TRUE(upcxx::team_id() == upcxx::team_id());
  EXPECT_TRUE(upcxx::team_id() != world_id);
  EXPECT_EQ(std::hash<upcxx::team_id>()(world_id), std::hash<upcxx::team_id>()(upcxx::world().id()));
  std::unordered_set<upcxx::team_id> set{world_id, local_id, upcxx::world().id()};
  EXPECT_EQ(set.size(), 2u);
  static_assert(std::is_trivially_copyable_v<upcxx::team_id>);
  static_assert(upcxx::is_trivially_serializable<upcxx::team_id>::value);
  upcxx::team_id const from_root = upcxx::broadcast(world_id, 0).wait();
  EXPECT_TRUE(from_root == world_id);
}

TEST_F(team_test, here_and_when_here_lead_back_to_the_team) {
  EXPECT_EQ(&upcxx::world().id().here(), &upcxx::world());
  EXPECT_EQ(&upcxx::local_team().id().here(), &upcxx::local_team());
  upcxx::future<upcxx::team&> f = upcxx::world().id().when_here();
  EXPECT_EQ(&f.wait(), &upcxx::world());
}

TEST_F(team_test, rpc_addresses_ranks_of_the_given_team) {
  upcxx::team const& local = upcxx::local_team();
  for (int r = 0; r < local.rank_n(); ++r) {
    EXPECT_EQ(upcxx::rpc(local, r, [] { return upcxx::rank_me(); }).wait(), local[r]);
  }
}

TEST_F(team_test, a_team_argument_arrives_as_the_targets_own_team) {
  bool const same =
      upcxx::rpc(
          right, [](upcxx::team& t, int size) { return &t == &upcxx::world() && t.rank_n() == size; },
          upcxx::world(), n)
          .wait();
  EXPECT_TRUE(same);
  upcxx::team& local = upcxx::local_team();
  upcxx::team const& constant = local;
  int const neighbour = (local.rank_me() + 1) % local.rank_n();
  EXPECT_EQ(upcxx::rpc(
                local[neighbour], [](upcxx::team const& t) { return t.rank_me(); }, constant)
                .wait(),
            neighbour);
}

TEST_F(team_test, a_team_id_travels_as_an_ordinary_value) {
  std::map<int, upcxx::team_id> ids{{0, upcxx::world().id()}, {1, upcxx::local_team().id()}};
  upcxx::team& local = upcxx::local_team();
  bool const same =
      upcxx::rpc(
          local[(local.rank_me() + 1) % local.rank_n()],
          [](std::map<int, upcxx::team_id> const& m) {
            return &m.at(0).here() == &upcxx::world() && &m.at(1).here() == &upcxx::local_team();
          },
          ids)
          .wait();
  EXPECT_TRUE(same);
}

TEST_F(team_test, teams_are_active_and_final) {
  EXPECT_TRUE(upcxx::world().is_active());
  EXPECT_TRUE(upcxx::local_team().is_active());
  static_assert(!std::is_copy_constructible_v<upcxx::team>);
  static_assert(std::is_final_v<upcxx::team>);
  static_assert(upcxx::team::color_none < 0);
}
