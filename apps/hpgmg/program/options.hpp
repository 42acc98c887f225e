#pragma once

/// The command line.

#include <string>

#include "solver/multigrid.hpp"

namespace hpgmg {

struct options {
  problem what;
  std::string communication;
  int warmup = 10;        ///< solves of each size before the clock starts
  double seconds = 60;    ///< of timed solves of each size
  int least_solves = 10;  ///< that are timed
  std::string results;    ///< SQLite file
  std::string json;       ///< file of the same numbers
  bool check = true;
  bool quiet = false;
};

/// What came of reading the command line: options, or a text to print (help or an error) and end with.
struct parsed {
  options value;
  std::string help;   ///< not empty: print this and end well
  std::string error;  ///< not empty: print this and end with status 2
};

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
