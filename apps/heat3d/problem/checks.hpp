#pragma once

/// Proof that a run is right, from quantities that can be computed independently of it.

#include <optional>
#include <string>
#include <vector>

#include "problem/problem.hpp"

namespace heat3d {

/// One comparison: `value` must not exceed `limit` (and must be a number).
struct check_result {
  std::string name;
  double value;
  double limit;
  std::string detail;

  bool passed() const { return value <= limit; }
};

/// Of a comparison over so many updates. Summation and rounding stay below 1e-15 in one, and what they leave adds up where nothing damps it;
/// the faults to be found are above 1e-4.
constexpr double tolerance_after(std::int64_t updates) {
  return 1e-12 + 0x1p-52 * static_cast<double>(updates);
}

/// The larger one. A residual that is not a number must not look small.
double worse(double a, double b);

/// What differed most for its limit, and when.
struct worst_difference {
  double value = 0;
  double limit = tolerance_after(0);
  std::int64_t updates = 0;

  /// Nothing is worse than the first NaN.
  void note(double next, double its_limit, std::int64_t after);
  bool passed() const { return value <= limit; }
};

/// Compares the heat in the domain with what entered and left it.
///
/// Conduction moves heat but creates none, so between any two moments the sum over all cells changes by
/// dt * (power * heated cells * heated updates - sigma * radiated). A halo that is late, missing or from the
/// wrong place breaks this, because the two sides of a cut then no longer see opposite flows.
class energy_ledger {
 public:
  explicit energy_ledger(problem const& p) : problem_(p) {}

  /// Global sums after `updates` updates: of the field, and of all that was radiated so far (exposed faces
  /// times fourth power, added up over cells and updates).
  void enter(std::int64_t updates, double field, double radiated);

  /// The relative residual that is largest for its limit so far.
  double residual() const { return worst_.value; }
  int comparison_n() const { return comparison_n_; }
  check_result result() const;

 private:
  problem problem_;
  bool has_entry_ = false;
  std::int64_t updates_ = 0;
  double field_ = 0;
  double radiated_ = 0;
  worst_difference worst_;
  int comparison_n_ = 0;
};

/// Compares means with closed forms, where there are any.
class mean_check {
 public:
  explicit mean_check(problem const& p) : problem_(p) {}
  void enter(std::int64_t updates, double mean);
  std::optional<check_result> result() const;

 private:
  problem problem_;
  int comparison_n_ = 0;
  worst_difference worst_;
};

}  // namespace heat3d
