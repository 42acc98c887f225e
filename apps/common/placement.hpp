#pragma once

/// Where the ranks of a job are.

#include <functional>
#include <string>

namespace apps {

struct placement {
  int hosts = 1;
  std::string
      text;  ///< "h1: ranks 0 to 3; h2: ranks 4 to 7", or "h1: 4 ranks from 0 on; …"; the first sixteen hosts
};

/// Asks the ranks for the names of their hosts. `max` and `sum`: the largest of what all ranks give, and what it adds up to. Collective,
/// the same on all ranks; takes some ten of those a host.
placement find_placement(int rank, std::function<double(double)> const& max,
                         std::function<double(double)> const& sum);

/// " on 2 hosts"; nothing where there is one.
std::string on_hosts(placement const& where);

}  // namespace apps
