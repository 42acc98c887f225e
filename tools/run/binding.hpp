#pragma once

/// Which core each rank gets.

#include <vector>

#include "base/os/unique_fd.hpp"
#include "run/options.hpp"

namespace atl::tools {

/// Cores by rank (-1: unbound), and the claims that keep other jobs of `atoll run` off them.
struct core_plan {
  std::vector<int> core_of_rank;
  std::vector<os::unique_fd> claims;
  char const* reason = "";  ///< for -v
};

/// `core` binds rank i to the i-th free core, starting over when there are more ranks than cores.
/// `automatic` does so only when the job has exactly one rank for each usable core and no other job
/// has claimed any of them.
core_plan plan_cores(run_options const& options);

}  // namespace atl::tools
