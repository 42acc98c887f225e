#include "engine/network/looks.hpp"

#include <gtest/gtest.h>

namespace atl::engine {
namespace {

TEST(looks, cost_nothing_where_polls_do) { EXPECT_TRUE(looks(0).are_free()); }

TEST(looks, take_half_of_the_time_while_nothing_comes) {
  looks at(300);
  EXPECT_FALSE(at.are_free());
  std::uint64_t now = 1000, inside = 0;
  for (int i = 0; i < 10'000; ++i) {
    if (at.is_due(now)) {
      now += 300;
      inside += 300;
      at.looked(false, now, 0);
    }
    now += 10;  // what else progress does
  }
  EXPECT_GE(inside, (now - 1000) * 45 / 100);
  EXPECT_LE(inside, (now - 1000) * 51 / 100);
}

TEST(looks, follow_at_once_after_one_that_found_something) {
  looks at(300);
  at.looked(true, 5000, 0);
  EXPECT_TRUE(at.is_due(5000));
  at.looked(false, 5300, 0);
  EXPECT_FALSE(at.is_due(5599));
  EXPECT_TRUE(at.is_due(5600));
}

TEST(looks, are_seldom_while_only_neighbours_send) {
  looks at(300);
  std::uint64_t now = 1000;
  std::uint64_t sent = 0;
  for (std::uint64_t const gap : {600, 1200, 2400, 4800, 4800}) {
    at.looked(false, now, ++sent);
    EXPECT_FALSE(at.is_due(now + gap - 1));
    EXPECT_TRUE(at.is_due(now + gap));
    now += gap;
  }
  at.looked(false, now, sent);  // they have nothing to send any more
  EXPECT_TRUE(at.is_due(now + 300));
  at.looked(false, now, ++sent);
  at.looked(true, now, ++sent);
  EXPECT_TRUE(at.may_be_due(sent) && at.is_due(now));
  at.looked(false, now + 4800, sent);
  EXPECT_TRUE(at.is_due(now + 5100));
}

/// A round trip takes longer than two polls, so that not each of these finds a new message of theirs.
TEST(looks, are_seldom_while_neighbours_answer_slowly) {
  looks at(300);
  std::uint64_t now = 1'000'000;
  std::uint64_t polls = 0;
  for (; now < 2'000'000; now += 10) {
    if (!at.is_due(now)) continue;
    now += 300;
    ++polls;
    at.looked(false, now, now / 1500);
  }
  EXPECT_LT(polls, 1'000'000U / 4'800 + 10);
}

TEST(looks, come_behind_messages_of_neighbours_that_send) {
  looks at(300);
  at.looked(false, 10'000, 0);
  EXPECT_TRUE(at.may_be_due(0) && at.may_be_due(0));
  at.looked(false, 20'000, 1);
  int readings = 0;
  for (std::uint64_t sent = 1; sent <= 10; ++sent) {  // they answer slowly
    for (int i = 0; i < 100; ++i) EXPECT_FALSE(at.may_be_due(sent - 1)) << "nothing has come since";
    readings += at.may_be_due(sent) ? 1 : 0;
  }
  EXPECT_EQ(readings, 10);
  readings = 0;
  for (std::uint64_t sent = 11; sent <= 30; ++sent) {  // and now at once
    for (int i = 0; i < 19; ++i) EXPECT_FALSE(at.may_be_due(sent - 1)) << "nothing has come since";
    readings += at.may_be_due(sent) ? 1 : 0;
  }
  EXPECT_EQ(readings, 5) << "once in as many questions as a reading is worth";
  int others = 0;
  for (int i = 0; i < 1280; ++i) others += at.may_be_due(30) ? 1 : 0;
  EXPECT_EQ(others, 10);
}

TEST(looks, leave_a_message_that_was_just_taken_to_who_waits_for_it) {
  looks at(300);
  at.looked(false, 10'000, 0);
  EXPECT_FALSE(at.had_better_wait(1))
      << "neighbours have not sent for long: the network is what is waited for";
  at.looked(false, 20'000, 1);
  for (std::uint64_t sent = 1; sent <= 100; ++sent) {
    EXPECT_TRUE(at.had_better_wait(sent));
    if (at.may_be_due(sent)) {
      EXPECT_EQ(sent, 32) << "the first time that nothing is there and a reading is worth its time";
      break;
    }
    EXPECT_FALSE(at.had_better_wait(sent));
  }
}

TEST(looks, are_not_put_off_by_who_asks_whether_they_are_far) {
  looks at(300);
  at.looked(false, 10'000, 0);
  at.looked(false, 20'000, 1);
  EXPECT_FALSE(at.may_be_due(1));
  int due = 0;
  for (int i = 0; i < 6400; ++i) due += !at.are_far(1) && at.may_be_due(1) ? 1 : 0;
  EXPECT_EQ(due, 50) << "who is not told that they are far is who looks at the clock";
}

TEST(looks, are_not_put_off_by_neighbours_that_send_in_every_round) {
  looks at(300);
  at.looked(false, 10'000, 0);
  at.looked(false, 20'000, 1);
  int due = 0;
  for (std::uint64_t sent = 2; sent < 6402; ++sent)
    due += !at.had_better_wait(sent) && at.may_be_due(sent) ? 1 : 0;
  EXPECT_EQ(due, 50);
}

TEST(looks, are_far_while_neighbours_send_and_nothing_is_there) {
  looks at(300);
  at.looked(false, 10'000, 0);
  EXPECT_FALSE(at.are_far(0));
  at.looked(false, 20'000, 1);
  EXPECT_FALSE(at.are_far(1)) << "nobody has looked since that message";
  EXPECT_FALSE(at.may_be_due(1));
  EXPECT_TRUE(at.are_far(1));
  at.looked(true, 30'000, 1);
  EXPECT_FALSE(at.are_far(1)) << "the network sends";
}

TEST(looks, are_due_before_sleep) {
  looks at(300);
  at.looked(false, 5300, 1);
  at.hurry();
  EXPECT_FALSE(at.are_far(1));
  EXPECT_TRUE(at.may_be_due(1) && at.is_due(5300));
}

}  // namespace
}  // namespace atl::engine
