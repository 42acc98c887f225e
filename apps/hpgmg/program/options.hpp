#pragma once

/// The command line.

#include <string>

#include "common/command_line.hpp"
#include "solver/multigrid.hpp"

namespace hpgmg {

struct options {
  problem what;
  std::string communication;
  int warmup = 10;        ///< solves of each size before the clock starts
  double seconds = 60;    ///< of timed solves of each size
  int least_solves = 10;  ///< that are timed
  std::string results;    ///< SQLite file
  std::string json;       ///< file of the same
  bool check = true;
  bool quiet = false;
};

using parsed = apps::parsed<options>;

/// Every rank gets the same answer; nothing is printed here.
parsed parse_options(int argc, char const* const* argv);

/// The best that this build has.
std::string default_communication();

// As on the command line.
char const* name_of(stencil op);
char const* name_of(smoother smooth);
char const* name_of(cycle start);
char const* name_of(box_order order);

}  // namespace hpgmg
