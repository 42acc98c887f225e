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
  EXPECT_TRUE(at.is_due(now));
  at.looked(false, now, sent);
  EXPECT_TRUE(at.is_due(now + 300));
}

TEST(looks, are_due_before_sleep) {
  looks at(300);
  at.looked(false, 5300, 0);
  at.hurry();
  EXPECT_TRUE(at.is_due(5300));
}

}  // namespace
}  // namespace atl::engine
