#include "engine/network/acknowledgement_habit.hpp"

#include <gtest/gtest.h>

namespace atl::engine {
namespace {

/// So often something follows at once, `waits` saying whether the acknowledgement waits for it.
void follow(acknowledgement_habit& habit, int times) {
  for (int i = 0; i < times; ++i) {
    habit.acknowledged(1000, habit.may_wait());
    habit.followed(2000);
  }
}

TEST(acknowledgement_habit, is_to_wait_where_messages_followed_twice) {
  acknowledgement_habit habit;
  EXPECT_FALSE(habit.may_wait());
  follow(habit, 1);
  EXPECT_FALSE(habit.may_wait());
  follow(habit, 1);
  EXPECT_TRUE(habit.may_wait());
}

TEST(acknowledgement_habit, ends_where_progress_follows) {
  acknowledgement_habit habit;
  follow(habit, 1000);
  habit.acknowledged(1000, true);
  habit.passed(1100);
  EXPECT_FALSE(habit.may_wait());
  follow(habit, 2);
  EXPECT_TRUE(habit.may_wait());
}

TEST(acknowledgement_habit, does_not_arise_where_messages_follow_late) {
  acknowledgement_habit habit;
  for (int i = 0; i < 10; ++i) {
    habit.acknowledged(1000, false);
    habit.followed(1'000'000);
  }
  EXPECT_FALSE(habit.may_wait());
  follow(habit, 2);
  EXPECT_TRUE(habit.may_wait());
}

/// A rank that answers at once many times and then computes makes its peer wait for that once.
TEST(acknowledgement_habit, is_not_trusted_for_long_after_one_has_waited_for_long) {
  for (bool const progress : {false, true}) {
    acknowledgement_habit habit;
    follow(habit, 1000);
    habit.acknowledged(1000, true);
    progress ? habit.passed(1'000'000) : habit.followed(1'000'000);
    follow(habit, 50);
    EXPECT_FALSE(habit.may_wait());
    habit.acknowledged(1000, false);
    habit.passed(0);  // takes nothing back of what has been made good
    follow(habit, 16);
    EXPECT_TRUE(habit.may_wait());
  }
}

}  // namespace
}  // namespace atl::engine
