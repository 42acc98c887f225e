#include "problem/closed_forms.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace heat3d {
namespace {

problem cube(std::int64_t edge) {
  problem p;
  p.domain = {edge, edge, edge};
  return p;
}

TEST(closed_forms, first_means_of_the_standard_problem) {
  auto const p = cube(100);
  EXPECT_EQ(exact_mean(p, 0), 0.0);
  EXPECT_NEAR(*exact_mean(p, 1) * 1e9, 1000000.0, 1e-6);
  EXPECT_NEAR(*exact_mean(p, 2) * 1e9, 1999896.0, 1e-6);
  EXPECT_FALSE(exact_mean(p, 3));
}

TEST(closed_forms, mean_without_radiation_stops_growing_when_power_is_off) {
  problem p;
  p.domain = {16, 5, 7};
  p.sigma = 0;
  p.last_step = 50;
  EXPECT_DOUBLE_EQ(*exact_mean(p, 50), 0.1625);
  EXPECT_DOUBLE_EQ(*exact_mean(p, 26), 0.1625);
  EXPECT_DOUBLE_EQ(*exact_mean(p, 8), 0.05);
}

TEST(closed_forms, profile_without_radiation) {
  problem p;
  p.domain = {16, 5, 7};
  p.sigma = 0;
  p.last_step = 50;
  auto const field = exact_field::make(p, 50);
  ASSERT_TRUE(field);
  EXPECT_NEAR(field->at(0, 3, 2), 0.75832318711748015, 1e-15);
  EXPECT_NEAR(field->at(15, 0, 0), 1.5755275277862348e-06, 1e-15);
}

TEST(closed_forms, eigenmode_decays_by_its_factor) {
  problem p;
  p.domain = {12, 10, 14};
  p.start = initial::eigenmode;
  p.mode = {1, 2, 3};
  p.sigma = 0;
  p.power = 0;
  auto const before = exact_field::make(p, 0);
  auto const after = exact_field::make(p, 50);
  ASSERT_TRUE(before && after);
  EXPECT_NEAR(after->at(0, 0, 0) / before->at(0, 0, 0), 0.009646631957532294, 1e-16);
  EXPECT_NEAR(exact_field::make(p, 1)->at(3, 0, 5) / before->at(3, 0, 5), 0.91135486062640914, 1e-15);
  EXPECT_DOUBLE_EQ(*exact_mean(p, 10), 0);
}

TEST(closed_forms, nothing_is_claimed_where_nothing_is_known) {
  auto p = cube(10);
  EXPECT_FALSE(exact_field::make(p, 5));
  p.start = initial::eigenmode;
  EXPECT_FALSE(exact_mean(p, 5));
  EXPECT_FALSE(exact_bounds(p));
}

TEST(closed_forms, bounds_are_claimed_only_for_small_steps) {
  auto p = cube(10);
  auto const bounds = exact_bounds(p);
  ASSERT_TRUE(bounds);
  EXPECT_EQ(bounds->low, 0);
  EXPECT_DOUBLE_EQ(bounds->high, 1);
  p.dt = 0.16;
  EXPECT_FALSE(exact_bounds(p));
}

TEST(closed_forms, initial_field) {
  problem p;
  p.t0 = 0.5;
  EXPECT_EQ(initial_value(p, 3, 4, 5), 0.5);
  p.start = initial::eigenmode;
  p.mode = {0, 0, 0};
  p.amplitude = 0.25;
  EXPECT_EQ(initial_value(p, 3, 4, 5), 0.75);
}

}  // namespace
}  // namespace heat3d
