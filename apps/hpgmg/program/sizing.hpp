#pragma once

/// How much memory a problem takes, asked before it is touched.

#include <optional>
#include <string>

#include "solver/multigrid.hpp"

namespace hpgmg {

/// What one rank needs at most in its shared heap, in bytes, whatever the number of ranks.
double most_bytes_per_rank(problem const& what);

/// What all ranks together need: the grids, and the arrays of the triad, which comes when these are there.
double bytes_of_all(problem const& what, int ranks);

/// On rank 0: says what is missing when the grids need more memory than is free on a host
/// that all ranks share. Collective.
std::optional<std::string> memory_problem(problem const& what, runtime& ranks);

}  // namespace hpgmg
