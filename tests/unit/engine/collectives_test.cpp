// Parts of collectives alone: lines of a channel, what ranks remember of each other's calls, members of teams.

#include <algorithm>
#include <cstring>
#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "engine/collectives/flat.hpp"
#include "engine/collectives/matching.hpp"
#include "engine/collectives/teams.hpp"
#include "ranks_in_memory.hpp"

namespace atl::engine {
namespace {

// ---- lines of a channel

/// A team of all ranks, as each of them has it.
class channel : public testing::Test {
 protected:
  void make(std::uint32_t ranks) {
    ranks_ = std::make_unique<ranks_in_memory>(ranks);
    for (std::uint32_t me = 0; me < ranks; ++me) {
      auto team = std::make_unique<team_data>(ranks_->seen_by(me));
      team->rank_n = static_cast<std::int32_t>(ranks);
      team->rank_me = static_cast<std::int32_t>(me);
      team->channel = 2;
      teams_.push_back(std::move(team));
    }
  }
  team_data& team(std::size_t rank) { return *teams_[rank]; }
  void publish(std::size_t rank, std::uint64_t value) {
    flat_publish(team(rank), call_, &value, sizeof value);
  }
  bool complete(std::size_t rank) {
    std::int32_t seen = 0;
    return flat_complete(team(rank), call_, seen);
  }

  noted_call call_{sign(collective_kind::barrier), 0, 0x12345};
  std::unique_ptr<ranks_in_memory> ranks_;
  std::vector<std::unique_ptr<team_data>> teams_;
};

TEST_F(channel, a_step_is_complete_when_all_others_have_published) {
  make(3);
  publish(0, 1);
  EXPECT_FALSE(complete(0));
  publish(2, 1);
  EXPECT_FALSE(complete(0));
  EXPECT_FALSE(complete(2));
  publish(1, 1);
  for (std::size_t rank = 0; rank < 3; ++rank) EXPECT_TRUE(complete(rank)) << rank;
}

TEST_F(channel, lines_of_an_earlier_lap_are_not_taken_for_new_ones) {
  make(2);
  for (unsigned step = 0; step < 3 * flat_lines; ++step) {
    ASSERT_TRUE(flat_room(team(0)));
    publish(0, step);
    EXPECT_FALSE(complete(0)) << "step " << step;
    publish(1, step);
    EXPECT_TRUE(complete(0));
    EXPECT_TRUE(complete(1));
  }
}

/// Reads the root's line, as members of a broadcast do.
class reader final : public flat_collective {
 public:
  explicit reader(team_data& team_of_all, noted_call const& what) {
    team = &team_of_all;
    call = what;
  }
  void begin() override { skip(); }
  bool advance() override {
    if (!is_there(0)) return false;
    std::memcpy(&value, payload_of(0), sizeof value);
    leave();
    return true;
  }
  std::uint64_t value = 0;
};

TEST_F(channel, a_root_is_ahead_by_as_many_lines_as_there_are) {
  make(2);
  for (std::uint64_t step = 0; step < flat_lines; ++step) {
    ASSERT_TRUE(flat_room(team(0))) << "step " << step;
    publish(0, 100 + step);
  }
  EXPECT_FALSE(flat_room(team(0))) << "the first line has not been read";
  for (std::uint64_t step = 0; step < flat_lines; ++step) {
    reader member(team(1), call_);
    member.begin();
    ASSERT_TRUE(member.advance());
    EXPECT_EQ(member.value, 100 + step);
    EXPECT_TRUE(flat_room(team(0)));
  }
  reader early(team(1), call_);
  early.begin();
  EXPECT_FALSE(early.advance());
}

// ---- what ranks have started

noted_call call(collective_kind kind, std::uint32_t number, std::uint32_t history) {
  return {sign(kind), number, history};
}

class started_calls : public testing::Test {
 protected:
  void start(int rank, std::uint64_t team, noted_call const& what) {
    note_started(pages_[rank], started_[rank]++, team, what);
  }
  difference find() const { return find_difference(pages_[0], pages_[1]); }

  std::unique_ptr<rank_page[]> pages_ = std::make_unique<rank_page[]>(2);
  std::uint32_t started_[2] = {};
};

TEST_F(started_calls, that_match_differ_nowhere) {
  EXPECT_FALSE(find().found) << "nothing was started";
  for (std::uint32_t i = 0; i < 3 * remembered_collectives; ++i) {
    start(0, 1, call(collective_kind::barrier, i, 7 * i));
    EXPECT_FALSE(find().found) << "one rank is ahead";
    start(1, 1, call(collective_kind::barrier, i, 7 * i));
    EXPECT_FALSE(find().found);
  }
}

TEST_F(started_calls, the_first_difference_is_found) {
  for (std::uint32_t i = 0; i < 5; ++i) {
    start(0, 9, call(collective_kind::barrier, i, i));
    start(1, 9, call(i < 2 ? collective_kind::barrier : collective_kind::broadcast, i, i < 2 ? i : 100 + i));
  }
  difference const d = find();
  ASSERT_TRUE(d.found);
  EXPECT_EQ(d.team, 9U);
  EXPECT_EQ(d.mine.number, 2U);
  EXPECT_EQ(d.mine.signature, sign(collective_kind::barrier));
  EXPECT_EQ(d.theirs, sign(collective_kind::broadcast));
}

TEST_F(started_calls, equal_calls_after_different_ones_differ_too) {
  start(0, 1, call(collective_kind::barrier, 3, 1));
  start(1, 1, call(collective_kind::barrier, 3, 2));
  EXPECT_TRUE(find().found);
}

TEST(operations, of_the_programs_own_match_any_on_elements_of_that_size) {
  unsigned const own_4 = own_operation(4);
  unsigned const own_8 = own_operation(8);
  unsigned const add_of_int = 1 + 5 + 2;  // operation_code() in upcxx/collectives.hpp
  unsigned const max_of_float = 1 + 3 * 20 + 15 + 2;
  unsigned const add_of_long_double = 1 + 15 + 4;
  EXPECT_TRUE(operations_match(own_4, own_4) && operations_match(add_of_int, add_of_int));
  EXPECT_FALSE(operations_match(own_4, own_8) || operations_match(add_of_int, max_of_float));
  EXPECT_TRUE(operations_match(own_4, add_of_int) && operations_match(max_of_float, own_4));
  EXPECT_FALSE(operations_match(own_8, add_of_int) || operations_match(max_of_float, own_8));
  EXPECT_TRUE(operations_match(own_operation(16), add_of_long_double) &&
              operations_match(add_of_long_double, own_operation(12)));
  for (std::size_t bytes = 1; bytes < 1000; ++bytes)
    EXPECT_TRUE(is_own_operation(own_operation(bytes))) << bytes;
  EXPECT_EQ(describe(sign(collective_kind::reduce_all, -1, 24, own_operation(12))),
            "reduce_all of 24 bytes by an operation of the program's own, of elements of 12 bytes");
}

TEST(signatures, hold_all_kinds_beside_all_else) {
  for (unsigned k = 0; k <= static_cast<unsigned>(collective_kind::device_allocator); ++k) {
    auto const kind = static_cast<collective_kind>(k);
    collective_signature const s = sign(kind, 500'000, 0xffffffffU, 255);
    EXPECT_EQ(atl::kind_of(s), kind);
    EXPECT_EQ(operation_of(s), 255U);
    EXPECT_NE(describe(s).find("with root 500000"), std::string::npos) << describe(s);
  }
  EXPECT_EQ(describe(sign(collective_kind::atomic_domain)), "atomic_domain");
  EXPECT_EQ(describe(sign(collective_kind::device_allocator)), "device_allocator");
}

TEST_F(started_calls, of_different_teams_are_not_compared) {
  start(0, 1, call(collective_kind::barrier, 0, 1));
  start(1, 2, call(collective_kind::broadcast, 0, 2));
  EXPECT_FALSE(find().found);
}

TEST_F(started_calls, a_note_that_is_being_written_means_nothing) {
  start(0, 1, call(collective_kind::barrier, 0, 1));
  start(1, 1, call(collective_kind::broadcast, 0, 2));
  ASSERT_TRUE(find().found);
  pages_[1].started[0].signature.store(sign(collective_kind::gather));
  EXPECT_FALSE(find().found);
}

// ---- members of teams

void expect_members(std::vector<std::int32_t> const& members, std::int32_t job_size) {
  ranks_in_memory ranks(1);
  team_data team(ranks.seen_by(0));
  team.set_members(members, 0);
  ASSERT_EQ(team.rank_n, static_cast<std::int32_t>(members.size()));
  for (std::int32_t rank = -1; rank <= job_size; ++rank) {
    std::int32_t expected = -7;
    for (std::size_t i = 0; i < members.size(); ++i) {
      if (members[i] == rank) expected = static_cast<std::int32_t>(i);
    }
    EXPECT_EQ(team.from_world(rank, -7), expected) << "world rank " << rank;
    if (expected >= 0) {
      EXPECT_EQ(team.to_world(expected), rank);
    }
  }
}

TEST(team_members, evenly_spaced_need_no_table) {
  for (std::vector<std::int32_t> const& members :
       {std::vector<std::int32_t>{0, 1, 2, 3}, {4}, {1, 4, 7, 10}, {9, 6, 3, 0}, {5, 4}}) {
    expect_members(members, 12);
    ranks_in_memory ranks(1);
    team_data team(ranks.seen_by(0));
    team.set_members(members, 0);
    EXPECT_EQ(team.table, nullptr);
  }
}

TEST(team_members, of_any_order_are_found) {
  expect_members({0, 1, 3}, 5);
  expect_members({7, 2, 11, 0}, 12);
  expect_members({1, 2, 4, 8, 16, 32}, 40);
}

// ---- hosts of teams

/// Where ranks of the job are that is pretended.
std::vector<std::int32_t> pretended_places;

/// The hosts of a team, as its first member sees them.
void expect_hosts(std::vector<std::int32_t> const& places, std::vector<std::int32_t> const& members,
                  bool evenly_spaced) {
  pretended_places = places;
  pretend_hosts([](std::int32_t rank) { return pretended_places[static_cast<std::size_t>(rank)]; },
                *std::max_element(places.begin(), places.end()) + 1);
  ranks_in_memory ranks(1);
  team_data team(ranks.seen_by(0));
  team.set_members(members, 0);
  pretend_hosts(nullptr, 0);
  ASSERT_NE(team.hosts, nullptr);
  EXPECT_EQ(team.hosts->by_host.empty(), evenly_spaced);
  pretend_hosts([](std::int32_t rank) { return pretended_places[static_cast<std::size_t>(rank)]; }, 1);
  std::vector<std::int32_t> numbers;  // of the hosts, in the order of their first members
  std::vector<std::int32_t> leaders;
  std::vector<std::int32_t> sizes;
  for (std::size_t r = 0; r < members.size(); ++r) {
    std::int32_t const host = places[static_cast<std::size_t>(members[r])];
    auto const found = std::find(numbers.begin(), numbers.end(), host);
    auto const index = static_cast<std::size_t>(found - numbers.begin());
    EXPECT_EQ(team.hosts->host_of_member(team, static_cast<std::int32_t>(r)), index) << "member " << r;
    if (found == numbers.end()) {
      numbers.push_back(host);
      leaders.push_back(static_cast<std::int32_t>(r));
      sizes.push_back(0);
    }
    ++sizes[index];
  }
  pretend_hosts(nullptr, 0);
  ASSERT_EQ(team.hosts->leaders.size(), leaders.size());
  ASSERT_EQ(team.hosts->sizes.size(), sizes.size());
  for (std::size_t i = 0; i < leaders.size(); ++i) {
    EXPECT_EQ(team.hosts->leaders[i], leaders[i]);
    EXPECT_EQ(team.hosts->sizes[i], sizes[i]);
  }
  EXPECT_EQ(team.hosts->sizes.largest(), *std::max_element(sizes.begin(), sizes.end()));
}

TEST(team_hosts, that_ascend_evenly_need_no_table_of_hosts) {
  expect_hosts({0, 0, 1, 1, 2, 2}, {0, 1, 2, 3, 4, 5}, true);
  expect_hosts({0, 1, 2, 0, 1, 2}, {0, 1, 2, 3, 4, 5}, true);  // dealt out in turn
  expect_hosts({0, 1, 2, 3, 4, 5}, {1, 3, 5}, true);           // every other host
  expect_hosts({0, 1, 1, 1, 2, 2}, {0, 1, 2, 3, 4, 5}, true);  // of different sizes
}

TEST(team_hosts, of_any_order_are_found) {
  expect_hosts({0, 0, 1, 1, 2, 2}, {5, 4, 3, 2, 1, 0}, false);
  expect_hosts({0, 1, 2, 3, 4, 5}, {0, 1, 4, 5}, false);
  expect_hosts({3, 3, 0, 2, 2, 1}, {4, 0, 5, 1, 3}, false);
  expect_hosts({0, 1, 1, 1, 2, 2}, {3, 0, 5, 1, 4, 2}, false);
}

TEST(team_registry, a_channel_is_free_again_when_its_team_ends) {
  ranks_in_memory ranks(2);
  team_registry teams(ranks.seen_by(0));
  std::uint32_t const all = teams.free_channels;
  team_data* const team = teams.add(5, 0, 2, 0, 3);
  EXPECT_EQ(teams.free_channels, all & ~(1U << 3));
  EXPECT_EQ(teams.find(5), team);
  team->flat_step = 17;
  teams.remove(*team);
  EXPECT_EQ(teams.free_channels, all);
  EXPECT_EQ(teams.highest_flat, 17U) << "the next team on a free channel must not take old lines for new";
  EXPECT_EQ(teams.find(5), nullptr);
}

}  // namespace
}  // namespace atl::engine
