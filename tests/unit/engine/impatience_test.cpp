#include "engine/progress/impatience.hpp"

#include <gtest/gtest.h>

namespace atl::engine {
namespace {

constexpr std::int32_t remembered = 16;

TEST(impatience, is_with_nobody_at_first) {
  impatience all;
  for (std::int32_t target = 0; target < 100; ++target) EXPECT_FALSE(all.with(target));
}

TEST(impatience, lasts_until_it_ends) {
  impatience all;
  all.begin(3);
  all.begin(0);
  EXPECT_TRUE(all.with(3));
  EXPECT_TRUE(all.with(0));
  EXPECT_FALSE(all.with(1));
  all.end(1);
  all.end(3);
  EXPECT_FALSE(all.with(3));
  EXPECT_TRUE(all.with(0));
  all.begin(3);
  EXPECT_TRUE(all.with(3));
}

// Of more than that the first ones are met with patience again; who is in it already takes no other's place.
TEST(impatience, is_with_the_last_sixteen) {
  impatience all;
  for (std::int32_t target = 0; target < remembered; ++target) all.begin(target);
  for (int again = 0; again < 100; ++again) all.begin(5);
  for (std::int32_t target = 0; target < remembered; ++target) EXPECT_TRUE(all.with(target)) << target;
  all.begin(remembered);
  EXPECT_TRUE(all.with(remembered));
  EXPECT_FALSE(all.with(0));
  for (std::int32_t target = 1; target < remembered; ++target) EXPECT_TRUE(all.with(target)) << target;
}

}  // namespace
}  // namespace atl::engine
