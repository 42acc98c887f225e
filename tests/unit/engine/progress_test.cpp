// Parts of progress alone: work that registers itself, waiting, calls that wait for their data.

#include <atomic>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "engine/copies/arrivals.hpp"
#include "engine/period.hpp"
#include "engine/progress/messages.hpp"
#include "engine/progress/progress_engine.hpp"
#include "engine/progress/waiting.hpp"
#include "engine/progress/work.hpp"

namespace atl::engine {
namespace {

// ---- work

class counted_work final : public work_source {
 public:
  counted_work(open_work& all, ending how) : work_source(all, how) {}
  int advanced = 0;
  bool moves = false;

 private:
  bool advance() override {
    ++advanced;
    if (moves) count(-1);
    return moves;
  }
};

TEST(open_work, sums_up_what_its_sources_have) {
  std::atomic<std::uint64_t> owed{3};
  std::atomic<std::uint64_t> awaited{0};
  open_work all(owed, awaited);
  counted_work rings(all, ending::rings);
  counted_work silent(all, ending::silent);
  EXPECT_EQ(all.items(), 0U);
  rings.count(3);
  silent.count(2);
  EXPECT_EQ(rings.open(), 3U);
  EXPECT_EQ(all.items(), 5U);
  EXPECT_EQ(all.silent(), 2U);
  EXPECT_EQ(all.owed(), 0U) << "as the period before has left it";
  silent.count(-2);
  all.add_owed(1);
  EXPECT_EQ(all.items(), 3U);
  EXPECT_EQ(all.silent(), 0U);
  EXPECT_EQ(all.owed(), 1U);
  EXPECT_EQ(owed, 1U);
}

TEST(open_work, asks_those_that_have_something_open) {
  std::atomic<std::uint64_t> owed{0};
  std::atomic<std::uint64_t> awaited{0};
  open_work all(owed, awaited);
  counted_work idle(all, ending::rings);
  counted_work stuck(all, ending::rings);
  counted_work moving(all, ending::rings);
  EXPECT_FALSE(all.advance());
  stuck.count(1);
  EXPECT_FALSE(all.advance());
  moving.count(1);
  moving.moves = true;
  EXPECT_TRUE(all.advance());
  EXPECT_FALSE(all.advance());
  EXPECT_EQ(idle.advanced, 0);
  EXPECT_EQ(stuck.advanced, 3);
  EXPECT_EQ(moving.advanced, 1);
}

TEST(open_work, forgets_a_source_that_ends_with_what_it_had_open) {
  std::atomic<std::uint64_t> owed{0};
  std::atomic<std::uint64_t> awaited{0};
  open_work all(owed, awaited);
  counted_work stays(all, ending::rings);
  stays.count(1);
  {
    counted_work goes(all, ending::silent);
    goes.count(4);
    EXPECT_EQ(all.items(), 5U);
  }
  EXPECT_EQ(all.items(), 1U);
  EXPECT_EQ(all.silent(), 0U);
  EXPECT_FALSE(all.advance());
  EXPECT_EQ(stays.advanced, 1);
}

// ---- waiting

TEST(wait_while, looks_first_and_makes_progress_in_between) {
  int rounds = 0;
  auto const progress = [&] { return ++rounds % 2 == 0; };
  wait_while([] { return false; }, progress, idling::yield);
  EXPECT_EQ(rounds, 0);
  wait_while([&] { return rounds < 10; }, progress, idling::yield);
  EXPECT_EQ(rounds, 10);
}

/// What the diagnostics record shows.
activity shown_wait() { return diagnostics->waits_in; }
std::uint64_t shown_since() { return diagnostics->entered_ns; }

TEST(waiting_note, shows_the_outer_wait_again) {
  {
    waiting_note const outer(activity::barrier);
    waiting_note::grows_long();
    std::uint64_t const since = shown_since();
    EXPECT_NE(since, 0U);
    {
      waiting_note const inner(activity::backpressure, 3);
      EXPECT_EQ(shown_wait(), activity::backpressure);
      EXPECT_EQ(diagnostics->waits_for, 3);
      EXPECT_EQ(shown_since(), 0U);
    }
    EXPECT_EQ(shown_wait(), activity::barrier);
    EXPECT_EQ(diagnostics->waits_for, -1);
    EXPECT_EQ(shown_since(), since);
  }
  EXPECT_EQ(shown_wait(), activity::none);
  EXPECT_EQ(shown_since(), 0U);
}

TEST(waiting_note, leaves_nothing_of_threads_whose_waits_overlap) {
  std::atomic<int> step{0};
  auto const come_to = [&](int what) {
    while (step.load() != what) std::this_thread::yield();
  };
  std::thread other;
  {
    waiting_note const first(activity::wait);
    waiting_note::grows_long();
    other = std::thread([&] {
      waiting_note const second(activity::discharge);
      waiting_note::grows_long();
      step = 1;
      come_to(2);
    });
    come_to(1);
  }
  step = 2;
  other.join();
  EXPECT_EQ(shown_wait(), activity::none);
  EXPECT_EQ(shown_since(), 0U);
}

TEST(waiting_note, a_long_wait_shows_again_when_that_of_another_thread_has_ended) {
  waiting_note const own(activity::wait);
  std::thread([] { waiting_note const brief(activity::discharge); }).join();
  waiting_note::grows_long();
  EXPECT_EQ(shown_wait(), activity::wait);
  EXPECT_NE(shown_since(), 0U);
}

// ---- calls ahead of their data

std::vector<message*> let_go;

class announced_calls : public testing::Test {
 protected:
  void SetUp() override {
    let_go.clear();
    before_ = message_sink;
    message_sink = [](message* m) { let_go.push_back(m); };
  }
  void TearDown() override { message_sink = before_; }

  std::atomic<std::uint64_t> owed_{0};
  std::atomic<std::uint64_t> awaited_{0};
  open_work all_{owed_, awaited_};
  counted_work work_{all_, ending::silent};
  arrivals calls_{work_};
  message m_[4];

 private:
  void (*before_)(message*) = nullptr;
};

TEST_F(announced_calls, wait_for_their_word_in_order) {
  std::atomic<std::uint64_t> word{0};
  for (std::uint64_t i = 0; i < 3; ++i) calls_.keep(word, i + 1, &m_[i]);
  EXPECT_EQ(all_.silent(), 3U);
  EXPECT_FALSE(calls_.let_go());
  word = 2;
  EXPECT_TRUE(calls_.let_go());
  EXPECT_EQ(let_go, (std::vector<message*>{&m_[0], &m_[1]}));
  EXPECT_EQ(all_.silent(), 1U);
  EXPECT_FALSE(calls_.let_go());
  word = 9;
  EXPECT_TRUE(calls_.let_go());
  EXPECT_EQ(let_go.back(), &m_[2]);
  EXPECT_EQ(all_.items(), 0U);
}

TEST_F(announced_calls, of_different_words_do_not_wait_for_each_other) {
  std::atomic<std::uint64_t> late{0};
  std::atomic<std::uint64_t> soon{0};
  calls_.keep(late, 1, &m_[0]);
  calls_.keep(soon, 1, &m_[1]);
  calls_.keep(soon, 2, &m_[2]);
  soon = 1;
  EXPECT_TRUE(calls_.let_go());
  EXPECT_EQ(let_go, (std::vector<message*>{&m_[1]}));
  late = 5;
  soon = 2;
  EXPECT_TRUE(calls_.let_go());
  EXPECT_EQ(let_go.size(), 3U);
}

// ---- periods

int called = 0;

TEST(periods, what_is_to_be_called_at_their_end_is_called_once) {
  std::uint64_t const before = periods_ended();
  called = 0;
  {
    calls_at_end ends;
    call_at_end([] { ++called; });
    EXPECT_EQ(called, 0);
    ends.run();
    ends.run();
    EXPECT_EQ(called, 1);
    EXPECT_EQ(periods_ended(), before);
  }
  EXPECT_EQ(periods_ended(), before + 1);
  EXPECT_FALSE(calls_at_end::exists());
}

}  // namespace
}  // namespace atl::engine
