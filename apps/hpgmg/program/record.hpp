#pragma once

/// All that is known of a run, for printing and files.

#include <string>
#include <vector>

#include "common/core_watch.hpp"
#include "common/placement.hpp"
#include "movers/traffic.hpp"
#include "solver/multigrid.hpp"

namespace hpgmg {

inline constexpr int size_n = 3;  ///< grids of a run that solves start on: h, 2h, 4h
inline constexpr std::array size_names{"h", "2h", "4h"};

/// Seconds of one solve on one level.
struct level_record {
  std::array<double, phase_n> seconds{};  ///< on rank 0
  std::array<double, phase_n> least{};    ///< on the rank with the least
  std::array<double, phase_n> most{};
  move_times exchange;  ///< on rank 0
  move_times restriction;
  move_times interpolation;

  [[nodiscard]] double total() const;
};

/// Solves that start on one grid.
struct size_record {
  int level = 0;
  int cells = 0;  ///< per dimension
  double source_norm = 0;
  std::vector<progress> history;  ///< of a solve, after each cycle
  int bottom_iterations = 0;      ///< of a solve
  std::vector<double> solve_s;    ///< each of the timed ones, on rank 0
  double mean_s = 0;
  double best_s = 0;
  std::vector<level_record> levels;

  [[nodiscard]] double unknowns() const { return double{1} * cells * cells * cells; }
};

/// One operation of communication on a level.
struct transfer_record {
  int level;
  std::string operation;
  plan_traffic traffic;
};

/// One comparison. `value` is right if it differs from `expected` by no more than `tolerance`.
struct check_result {
  std::string name;
  double value;
  double expected;
  double tolerance;

  [[nodiscard]] bool passed() const;
};

struct run_record {
  problem what;
  std::string communication;
  int ranks = 1;
  apps::placement where;
  int cores = 1;  ///< that any of them may use
  int warmup = 0;
  std::vector<grid_shape> levels;
  std::vector<double> largest_eigenvalue;
  int most_boxes = 0;  ///< of one rank on the finest level
  double build_s = 0;
  double triad_rate = 0;  ///< bytes/s of all ranks together
  std::vector<size_record> sizes;
  double sweep_s = 0;  ///< of a smoother's sweep over the finest grid, by all cores that ranks use
  double waited = apps::core_watch::unknown;  ///< largest share of time that a rank was kept from a core
  double error = 0;                           ///< Richardson's of the finest grid
  double order = 0;
  std::vector<transfer_record> transfers;
  std::array<size_histogram, message_form_n> messages;  ///< of one solve of the finest grid
  bool checked = false;
  std::vector<check_result> checks;

  [[nodiscard]] bool passed() const;
  [[nodiscard]] double sweep_ns_per_cell() const;
  [[nodiscard]] double bound_ns_per_cell() const;  ///< by the triad; of all ranks together, as the other
};

char const* name_of(phase what);

}  // namespace hpgmg
