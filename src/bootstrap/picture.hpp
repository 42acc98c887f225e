#pragma once

/// What ranks are doing, for people: a table of what they show of themselves (base/diagnostics.hpp).

#include <span>
#include <string>

#include "base/diagnostics.hpp"

namespace atl::bootstrap {

/// What is known of one rank when a picture is drawn.
struct seen_rank {
  int rank;
  int pid;  ///< unless the record knows
  bool running;
  int process;  ///< its number to this process; 0: not known
  rank_diagnostics const* record;
};

/// A line for each rank, with a head: its state, what it does, and what is outstanding. Empty without ranks.
std::string picture_of(std::span<seen_rank const> ranks);

}  // namespace atl::bootstrap
