#pragma once

/// Where the ranks of a job are.

#include <functional>
#include <string>
#include <vector>

namespace apps {

struct placement {
  int hosts = 1;
  int cores = 0;  ///< that any rank may use, those of each host counted for themselves
  std::string
      text;  ///< "h1: ranks 0 to 3; h2: ranks 4 to 7", or "h1: 4 ranks from 0 on; …"; the first sixteen hosts
};

/// What a rank says of itself.
struct seat {
  int rank = 0;
  std::string host;
  std::vector<bool> usable;  ///< is core i?

  static seat of_this_process(int rank);
};

/// Asks the ranks where they are. `max` and `sum`: the largest of what all ranks give, and what it adds up to. Collective, the same
/// on all ranks; takes some twenty of those a host, more where that has many cores.
placement find_placement(seat const& mine, std::function<double(double)> const& max,
                         std::function<double(double)> const& sum);

/// " on 2 hosts"; nothing where there is one.
std::string on_hosts(placement const& where);

}  // namespace apps
