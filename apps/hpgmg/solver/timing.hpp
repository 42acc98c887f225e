#pragma once

/// Where the time of a solve goes, by level.

#include <array>
#include <vector>

#include "movers/runtime.hpp"

namespace hpgmg {

enum class phase {
  smooth,
  residual,
  apply,
  blas1,
  boundary,
  restriction,
  interpolation,
  exchange,
  restriction_moves,
  interpolation_moves,
  collectives,
  phase_n
};
inline constexpr int phase_n = static_cast<int>(phase::phase_n);

struct level_times {
  std::array<double, phase_n> seconds{};
  move_times exchange;
  move_times restriction;
  move_times interpolation;
};

struct timing {
  std::vector<level_times> levels;
  double solve = 0;
  int solves = 0;
};

/// Adds the time of a scope to a phase.
class timed {
 public:
  timed(level_times& to, phase what) : to_(to.seconds[static_cast<std::size_t>(what)]), begin_(now()) {}
  ~timed() { to_ += now() - begin_; }
  timed(timed const&) = delete;
  timed& operator=(timed const&) = delete;

 private:
  double& to_;
  double begin_;
};

}  // namespace hpgmg
