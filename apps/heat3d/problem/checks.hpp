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

/// Summation and rounding stay below 1e-15; the faults to be found are above 1e-4.
inline constexpr double tolerance = 1e-12;

/// The larger one. A residual that is not a number must not look small.
double worse(double a, double b);

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

  /// Largest relative residual so far.
  double residual() const { return residual_; }
  int comparison_n() const { return comparison_n_; }
  check_result result() const;

 private:
  problem problem_;
  bool has_entry_ = false;
  std::int64_t updates_ = 0;
  double field_ = 0;
  double radiated_ = 0;
  double residual_ = 0;
  std::int64_t worst_updates_ = 0;
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
  double error_ = 0;
  std::int64_t worst_updates_ = 0;
};

}  // namespace heat3d
