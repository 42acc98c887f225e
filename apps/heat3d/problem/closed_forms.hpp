#pragma once

/// Results that are known without simulating. docs/design/heat3d.md derives them.

#include <cstdint>
#include <optional>
#include <vector>

#include "problem/problem.hpp"

namespace heat3d {

/// Initial temperature of a cell.
double initial_value(problem const& p, std::int64_t x, std::int64_t y, std::int64_t z);

/// Exact mean temperature after `updates` updates, where a closed form exists.
std::optional<double> exact_mean(problem const& p, std::int64_t updates);

/// Exact field after `updates` updates.
class exact_field {
 public:
  /// Nothing where no closed form exists: with radiation, or with an eigenmode and power.
  static std::optional<exact_field> make(problem const& p, std::int64_t updates);

  double at(std::int64_t x, std::int64_t y, std::int64_t z) const;
  /// Largest magnitude of the terms that make up a value, for relative errors.
  double scale() const { return scale_; }

 private:
  explicit exact_field(problem const& p) : problem_(p) {}

  problem problem_;
  double factor_ = 1;            ///< of the eigenmode
  std::vector<double> profile_;  ///< by x, for a uniform start
  double scale_ = 1;
};

/// Interval that no cell can leave, where the step width is small enough for that to be provable.
struct interval {
  double low;
  double high;
};
std::optional<interval> exact_bounds(problem const& p);

}  // namespace heat3d
