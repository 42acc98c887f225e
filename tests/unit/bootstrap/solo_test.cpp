#include <gtest/gtest.h>

#include <cstdlib>

#include "bootstrap/bootstrap.hpp"

namespace {

using atl::bootstrap::attach;

TEST(solo, without_launcher_there_is_one_rank) {
  ::setenv("ATOLL_BOOTSTRAP", "solo", 1);
  auto& channel = attach();
  EXPECT_EQ(channel.name(), "solo");
  EXPECT_EQ(channel.where().rank, 0);
  EXPECT_EQ(channel.where().size, 1);
  EXPECT_EQ(channel.where().local_size, 1);
  EXPECT_EQ(channel.job_id().size(), 32U);
  EXPECT_EQ(&channel, &attach());
}

TEST(solo, exchange_returns_our_own_blob) {
  auto const all = attach().exchange("blob");
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0], "blob");
}

TEST(solo, descriptor_is_our_own) { EXPECT_EQ(atl::bootstrap::share_descriptor(attach(), 0), 0); }

TEST(solo, console_is_our_environment) {
  ::setenv("ATOLL_TEST_VARIABLE", "value", 1);
  EXPECT_STREQ(attach().console_env("ATOLL_TEST_VARIABLE"), "value");
  EXPECT_EQ(attach().console_env("ATOLL_TEST_VARIABLE_THAT_IS_NOT_SET"), nullptr);
}

TEST(solo, one_candidate_is_chosen) {
  int chosen = 0;
  for (auto const& item : atl::bootstrap::candidates()) {
    chosen += item.chosen ? 1 : 0;
    EXPECT_FALSE(item.reason.empty());
  }
  EXPECT_EQ(chosen, 1);
}

}  // namespace
