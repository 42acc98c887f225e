// The engine in a job of one rank: active messages to itself, collectives of one, poll.

#include <atoll/engine/am.hpp>
#include <atoll/engine/collectives.hpp>
#include <atoll/engine/token.hpp>

#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>
#include <vector>

#include <gtest/gtest.h>
#include <upcxx/detail/persona_state.hpp>

#include "engine/collectives/under_way.hpp"
#include "engine/progress/quiet.hpp"

namespace atl::engine {
namespace {

std::vector<std::vector<std::byte>> handled;
std::uintptr_t handled_at = 0;

void take_in(message* m) {
  handled.emplace_back(m->payload(), m->base + m->bytes);
  handled_at = reinterpret_cast<std::uintptr_t>(m->base);
  release(m);
}

void answer(message* m) {
  am_short(m->source, token_cache<&take_in>::get(), m->payload(), m->bytes - header_bytes, pressure::always);
  release(m);
}

class solo : public testing::Test {
 protected:
  void SetUp() override {
    rt::init(false);
    handled.clear();
  }
  void TearDown() override { rt::finalize(false); }

  static void poll_until(std::size_t messages) {
    for (int i = 0; i < 10'000 && handled.size() < messages; ++i) poll();
    ASSERT_EQ(handled.size(), messages);
  }
};

std::byte value(std::size_t i) { return static_cast<std::byte>(i * 31 + i / 256); }

TEST_F(solo, active_messages_to_oneself_run_in_poll_only) {
  std::uint64_t const word = 42;
  am_short(0, token_cache<&take_in>::get(), &word, sizeof word);
  EXPECT_TRUE(handled.empty());
  EXPECT_FALSE(quiet());
  poll_until(1);
  EXPECT_EQ(std::memcmp(handled[0].data(), &word, sizeof word), 0);
  EXPECT_TRUE(quiet());
  EXPECT_FALSE(poll());
}

TEST_F(solo, handlers_may_answer) {
  std::uint64_t const word = 7;
  for (int i = 0; i < 100; ++i) am_short(0, token_cache<&answer>::get(), &word, sizeof word);
  poll_until(100);
}

TEST_F(solo, buffers_grow_across_all_protocols) {
  for (std::size_t const final_size :
       {std::size_t{100}, std::size_t{3000}, std::size_t{100'000}, std::size_t{5} << 20}) {
    for (std::size_t const alignment : {std::size_t{64}, std::size_t{1024}}) {
      outgoing out;
      std::size_t used = header_bytes;
      am_begin(out, 0, 64, pressure::wait);
      while (used < final_size) {
        if (used == out.capacity)
          am_grow(out, used, std::min(2 * used, final_size), alignment, pressure::wait);
        std::size_t const end = std::min(out.capacity, final_size);
        for (; used < end; ++used) out.begin[used] = value(used);
      }
      am_commit(out, message_kind::active, token_cache<&take_in>::get(), used);
      handled.clear();
      poll_until(1);
      ASSERT_EQ(handled[0].size(), final_size - header_bytes);
      if (final_size > 100) {
        EXPECT_EQ(handled_at % alignment, 0U);
      }
      std::size_t right = 0;
      while (right < handled[0].size() && handled[0][right] == value(right + header_bytes)) ++right;
      EXPECT_EQ(right, final_size - header_bytes) << "the first wrong byte";
    }
  }
}

TEST_F(solo, cancelled_buffers_send_nothing) {
  for (std::size_t const bytes : {std::size_t{64}, std::size_t{10'000}, std::size_t{10} << 20}) {
    outgoing out;
    am_begin(out, 0, bytes, pressure::wait);
    am_cancel(out);
  }
  poll();
  EXPECT_TRUE(handled.empty());
  EXPECT_EQ(unsent(), 0U);
}

TEST_F(solo, floods_to_oneself_end) {
  // More than the ring holds, without a poll of the program's: sending takes messages in.
  std::vector<std::byte> const data(900, std::byte{1});
  for (int i = 0; i < 3000; ++i) am_short(0, token_cache<&take_in>::get(), data.data(), data.size());
  poll_until(3000);
}

TEST_F(solo, immediate_mode_says_that_there_is_no_room) {
  for (std::size_t const bytes : {header_bytes + 8, std::size_t{1000}, std::size_t{100'000}}) {
    handled.clear();
    std::size_t sent = 0;
    for (outgoing out; am_try_begin(out, 0, bytes); ++sent) {
      ASSERT_LT(sent, 1'000'000U) << "it takes what has no room, or makes progress";
      std::memset(out.begin + header_bytes, 1, bytes - header_bytes);
      am_commit(out, message_kind::active, token_cache<&take_in>::get(), bytes);
    }
    EXPECT_GT(sent, 0U);
    EXPECT_TRUE(handled.empty());
    poll_until(sent);
    outgoing out;
    ASSERT_TRUE(am_try_begin(out, 0, bytes));
    am_cancel(out);
    EXPECT_EQ(unsent(), 0U);
  }
}

void set_flag(void* flag) { *static_cast<bool*>(flag) = true; }

void add(void* a, void const* b, std::size_t count, void const*) {
  for (std::size_t i = 0; i < count; ++i) static_cast<long*>(a)[i] += static_cast<long const*>(b)[i];
}

TEST_F(solo, collectives_of_one_rank_complete_with_its_own_values) {
  for (team_view* const team : {&world_team(), &local_team()}) {
    for (std::size_t const count :
         {std::size_t{0}, std::size_t{1}, std::size_t{6}, std::size_t{7}, std::size_t{10'000}}) {
      std::array<bool, 5> done{};
      std::vector<long> values(count);
      std::iota(values.begin(), values.end(), 1);
      std::vector<long> const before = values;
      std::vector<long> all(count);
      std::size_t const bytes = count * sizeof(long);
      start_barrier(*team, {&set_flag, &done[0]});
      start_broadcast(*team, values.data(), bytes, 0, {&set_flag, &done[1]});
      start_reduce(*team, values.data(), values.data(), count, sizeof(long), &add, nullptr, 0,
                   {&set_flag, &done[2]});
      start_reduce(*team, values.data(), values.data(), count, sizeof(long), &add, nullptr, -1,
                   {&set_flag, &done[3]});
      start_gather_all(*team, values.data(), bytes, all.data(), {&set_flag, &done[4]});
      EXPECT_NE(collectives_under_way::here().open(), 0U);
      for (int i = 0; i < 100 && collectives_under_way::here().open() != 0; ++i) poll();
      EXPECT_EQ(collectives_under_way::here().open(), 0U);
      for (bool const one : done) EXPECT_TRUE(one);
      EXPECT_EQ(values, before);
      EXPECT_EQ(all, before);
    }
  }
}

TEST_F(solo, many_barriers_may_be_open_at_once) {
  constexpr int count = 1000;
  int completed = 0;
  for (int i = 0; i < count; ++i) {
    start_barrier(world_team(), {[](void* n) { ++*static_cast<int*>(n); }, &completed});
  }
  wait_barrier(world_team(), &rt::progress_user);
  EXPECT_EQ(completed, count) << "a later barrier completed first";
}

TEST_F(solo, collectives_left_open_at_the_end_are_dropped) {
  static bool done = false;
  static std::vector<long> values(100'000);
  start_broadcast(world_team(), values.data(), values.size() * sizeof(long), 0, {&set_flag, &done});
}

TEST_F(solo, teams_translate_ranks) {
  EXPECT_EQ(team_to_world(world_team(), 0), 0);
  EXPECT_EQ(team_from_world(world_team(), 0, -5), 0);
  EXPECT_EQ(team_from_world(world_team(), 3, -5), -5);
  EXPECT_EQ(find_team(world_team().id), &world_team());
  EXPECT_EQ(find_team(local_team().id), &local_team());
  EXPECT_EQ(find_team(~std::uint64_t{0}), nullptr);
}

TEST(solo_again, the_engine_starts_again_after_its_end) {
  for (int period = 0; period < 20; ++period) {
    rt::init(period % 2 == 0);
    handled.clear();
    std::uint64_t const word = 1;
    am_short(0, token_cache<&take_in>::get(), &word, sizeof word);
    for (int i = 0; i < 100 && handled.empty(); ++i) poll();
    EXPECT_EQ(handled.size(), 1U);
    wait_barrier(world_team(), &rt::progress_user);
    rt::finalize(false);
    EXPECT_FALSE(rt::initialized());
  }
}

}  // namespace
}  // namespace atl::engine
