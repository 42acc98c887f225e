#pragma once

/// The physical problem: what is computed, whoever computes it. Everything is dimensionless.

#include <cstdint>

#include "problem/cell.hpp"
#include "problem/geometry.hpp"

namespace heat3d {

enum class initial { uniform, eigenmode };

struct problem {
  triple domain{200, 200, 200};  ///< cells per direction
  double t0 = 0.0;               ///< initial temperature
  double dt = 0.1;
  double q = 1.0;
  double sigma = 1.0;
  double power = 1.0;
  std::int64_t last_step = 10000;  ///< N: steps run from 0 to this one inclusive
  std::int64_t stop_after = 0;     ///< run only that many updates of them; 0: all
  initial start = initial::uniform;
  triple mode{1, 1, 1};    ///< half waves per direction of the eigenmode
  double amplitude = 1.0;  ///< of the eigenmode

  std::int64_t cell_n() const { return domain[0] * domain[1] * domain[2]; }
  std::int64_t heated_cell_n() const { return domain[1] * domain[2]; }
  std::int64_t update_n() const {
    return stop_after > 0 && stop_after <= last_step ? stop_after : last_step + 1;
  }
  /// The step that is run last.
  std::int64_t final_step() const { return update_n() - 1; }
  /// Power is on in the first half of the run.
  bool is_heated(std::int64_t step) const { return step <= last_step / 2; }
  /// Updates with power among the first `updates`.
  std::int64_t heated_updates(std::int64_t updates) const {
    return updates < last_step / 2 + 1 ? updates : last_step / 2 + 1;
  }
  coefficients coefficients_at(std::int64_t step) const {
    return {dt, q, sigma, is_heated(step) ? power : 0.0};
  }
  /// Explicit Euler amplifies no mode of the conduction up to this step width.
  bool is_stable() const { return 6 * q * dt <= 1; }
};

}  // namespace heat3d
