#include "problem/checks.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "program/field_check.hpp"

namespace heat3d {
namespace {

problem heated() {
  problem p;
  p.domain = {10, 4, 5};
  p.last_step = 9;
  return p;
}

TEST(energy_ledger, accepts_balanced_sums_over_any_number_of_updates) {
  auto const p = heated();
  energy_ledger ledger(p);
  ledger.enter(0, 0, 0);
  double const after_three = 0.1 * (3 * 1.0 * 20 - 1.0 * 2.5);
  ledger.enter(3, after_three, 2.5);
  // Power goes off after update 5 (steps 0 to 4).
  ledger.enter(8, after_three + 0.1 * (2 * 20 - 1.5), 4.0);
  EXPECT_EQ(ledger.comparison_n(), 2);
  EXPECT_LT(ledger.residual(), 1e-15);
  EXPECT_TRUE(ledger.result().passed());
}

TEST(energy_ledger, rejects_heat_from_nowhere_and_says_when) {
  energy_ledger ledger(heated());
  ledger.enter(0, 0, 0);
  ledger.enter(1, 2.0, 0);
  ledger.enter(2, 4.0001, 0);
  EXPECT_FALSE(ledger.result().passed());
  EXPECT_NE(ledger.result().detail.find("after 2 updates"), std::string::npos);
}

TEST(energy_ledger, rejects_what_is_not_a_number) {
  energy_ledger ledger(heated());
  ledger.enter(0, 0, 0);
  ledger.enter(1, std::numeric_limits<double>::quiet_NaN(), 0);
  ledger.enter(2, 0, 0);
  EXPECT_FALSE(ledger.result().passed());
  // No heat was lost on the way: it is the step that is too wide. Where that began is not forgotten.
  EXPECT_NE(ledger.result().detail.find("beyond all numbers: seen after 1 updates; -dt"), std::string::npos)
      << ledger.result().detail;
}

TEST(energy_ledger, leaves_rounding_of_many_updates_room_and_of_few_none) {
  auto p = heated();
  p.power = 0;
  p.sigma = 0;
  energy_ledger long_one(p);
  long_one.enter(0, 200, 0);
  long_one.enter(1'000'000, 200 * (1 + 1e-11), 0);
  EXPECT_TRUE(long_one.result().passed());
  EXPECT_GT(long_one.result().limit, 1e-10);
  // What is worse for its own limit is what is told.
  long_one.enter(1'000'001, 200 * (1 + 1e-11) * (1 + 2e-12), 0);
  EXPECT_FALSE(long_one.result().passed());
  EXPECT_NE(long_one.result().detail.find("after 1000001 updates"), std::string::npos);
}

TEST(mean_check, compares_only_where_a_closed_form_exists) {
  mean_check check(heated());
  check.enter(5, 123);
  EXPECT_FALSE(check.result());
  check.enter(1, 0.01);
  ASSERT_TRUE(check.result());
  EXPECT_TRUE(check.result()->passed());
  check.enter(1, 0.0100001);
  EXPECT_FALSE(check.result()->passed());
}

TEST(check_result, a_value_that_is_not_a_number_fails) {
  EXPECT_FALSE((check_result{"x", std::numeric_limits<double>::quiet_NaN(), 1, ""}.passed()));
  EXPECT_TRUE((check_result{"x", 1, 1, ""}.passed()));
}

class field_check : public testing::Test {
 protected:
  std::vector<check_result> check(problem const& p, std::vector<double> const& values) {
    auto const own = make_block(p.domain, {1, 1, 1}, 0);
    auto const engine = make_backend("plain", {own, p.domain});
    engine->load(values);
    auto const ranks = make_solo_communicator();
    return check_field(p, own, *engine, engine->scan(), *ranks);
  }
};

TEST_F(field_check, finds_one_cell_out_of_bounds) {
  auto const p = heated();
  std::vector<double> values(p.cell_n(), 0.5);
  auto results = check(p, values);
  ASSERT_EQ(results.size(), 1U);
  EXPECT_TRUE(results[0].passed());
  values[77] = 1.001;
  EXPECT_FALSE(check(p, values)[0].passed());
  values[77] = -1e-9;
  EXPECT_FALSE(check(p, values)[0].passed());
}

TEST_F(field_check, finds_one_wrong_cell_where_the_field_is_known) {
  auto p = heated();
  p.sigma = 0;
  p.power = 0;
  p.t0 = 0.25;
  std::vector<double> values(p.cell_n(), 0.25);
  EXPECT_TRUE(check(p, values)[0].passed());
  values[3] += 1e-9;
  EXPECT_FALSE(check(p, values)[0].passed());
}

}  // namespace
}  // namespace heat3d
