#pragma once

/// Which network a job uses: the first that all of its ranks can open, whatever is first on the host of each.

#include <functional>
#include <string>
#include <vector>

#include "bootstrap/bootstrap.hpp"

namespace atl::engine {

struct agreement {
  std::string name;  ///< empty: there is none that all ranks have
  /// What is wrong with those before it, or with all, as of one rank that lacks each. The same on all ranks.
  std::string passed_over;
  bool has_better = false;  ///< this rank has one of those
};

/// `open` opens a network here, instead of the one it has opened before, and returns why that cannot be, or nothing. It is called with one name
/// after the other until all ranks have succeeded with one. `build`: of this library, without blanks; where ranks have different ones they agree on
/// nothing. Collective over the job; each attempt is one channel::agree().
agreement agree_on_network(bootstrap::channel& channel, std::string const& build,
                           std::vector<std::string> const& names,
                           std::function<std::string(std::string const& name)> const& open);

}  // namespace atl::engine
