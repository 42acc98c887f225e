#pragma once

/// Results of the public MPI reference of HPGMG-FV, to compare with.

#include <array>
#include <optional>
#include <vector>

#include "solver/multigrid.hpp"

namespace hpgmg {

/// Bound on the largest eigenvalue of a level's D^-1 A, and how exactly it is known, relative to it.
struct known_bound {
  double value;
  double tolerance = 1e-13;
};

/// What is known of one problem on a grid of N^3 cells. Parts that are not are empty. Norms are largest
/// absolute values; h, 2h and 4h are the three sizes of a run,
/// of which the coarser have restricted operators.
struct reference {
  std::optional<std::array<double, 3>> source_norm;  ///< of f on h, 2h, 4h
  std::vector<known_bound> largest_eigenvalue;       ///< on each level, as far as known
  // One F-cycle:
  std::optional<std::array<double, 3>> residual_norm;  ///< on h, 2h, 4h
  std::optional<std::array<int, 3>> bottom_iterations;
  // Cycles of the problem's kind, until converged for those that repeat:
  std::vector<double> reduction;  ///< residual over source after each cycle on h
  std::optional<double> error;    ///< Richardson's, of h
  std::optional<double> order;
};

/// Null where nothing is known. The rank count, the order of boxes and the communication change nothing.
std::optional<reference> find_reference(problem const& what, int cells);

// Relative tolerances: how far implementations differ by rounding.
double norm_tolerance(int cells);                 ///< of residual norms
double error_tolerance(int cells);                ///< of the Richardson error
inline constexpr double order_tolerance = 0.001;  ///< absolute
inline constexpr double exact_tolerance = 1e-11;  ///< of what no solver comes into

}  // namespace hpgmg
