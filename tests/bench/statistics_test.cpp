// How `atoll bench` evaluates blocks, and what its programs tell each other.

#include "statistics.hpp"

#include <gtest/gtest.h>

#include "harness/record.hpp"

namespace atl::tools {
namespace {

TEST(statistics, median_is_the_middle_or_between_the_two_in_the_middle) {
  EXPECT_DOUBLE_EQ(median({3, 1, 2}), 2);
  EXPECT_DOUBLE_EQ(median({4, 1, 2, 3}), 2.5);
  EXPECT_DOUBLE_EQ(median({}), 0);
}

TEST(statistics, quantiles_interpolate) {
  EXPECT_DOUBLE_EQ(quantile({0, 10}, 0.1), 1);
  EXPECT_DOUBLE_EQ(quantile({0, 10}, 0.9), 9);
  EXPECT_DOUBLE_EQ(quantile({5}, 0.9), 5);
}

TEST(statistics, one_outlier_moves_neither_median_nor_deviation) {
  EXPECT_DOUBLE_EQ(median_deviation({1, 1, 1, 1, 1000}), 0);
  EXPECT_DOUBLE_EQ(median_deviation({1, 2, 3}), 1);
}

TEST(statistics, ratios_are_taken_block_by_block) {
  // The machine was twice as slow in the second block: the ratio does not see it.
  EXPECT_DOUBLE_EQ(median_ratio({2, 4, 2}, {1, 2, 1}), 2);
  EXPECT_DOUBLE_EQ(median_ratio({2, 4}, {}), 0);
}

TEST(record, survives_the_way_through_a_line) {
  bench::record const sent{"row", {{"name", "rput().wait(), a=b"}, {"ns", "1.5,2,3e-1"}, {"empty", ""}}};
  std::string line = bench::encode(sent);
  ASSERT_EQ(line.back(), '\n');
  line.pop_back();
  auto const got = bench::decode(line);
  ASSERT_TRUE(got.has_value());
  EXPECT_EQ(got->kind, "row");
  EXPECT_EQ(got->get("name"), "rput().wait(), a=b");
  EXPECT_EQ(got->numbers("ns"), (std::vector<double>{1.5, 2, 0.3}));
  EXPECT_TRUE(got->numbers("empty").empty());
  EXPECT_EQ(got->get("absent"), "");
}

TEST(record, other_lines_are_no_records) {
  EXPECT_FALSE(bench::decode("hello").has_value());
  EXPECT_FALSE(bench::decode("row\tno equals sign").has_value());
  EXPECT_FALSE(bench::decode("").has_value());
}

}  // namespace
}  // namespace atl::tools
