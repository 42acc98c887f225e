#pragma once

/// Which cores each rank gets.

#include <string>
#include <vector>

#include "base/os/unique_fd.hpp"
#include "run/options.hpp"

namespace atl::tools {

/// Cores (hardware threads) by rank, none where it is not bound, and the claims that keep other jobs of `atoll run`
/// off them.
struct core_plan {
  std::vector<std::vector<int>> cores_of_rank;
  std::vector<os::unique_fd> claims;
  std::string reason;  ///< for -v
};

/// `core` binds rank i to the i-th free core, starting over when there are more ranks than cores; different cores
/// come before the second hardware thread of one. `socket` and `numa` bind it to all of one, neighbouring ranks
/// together, without claims. Throws startup_error where those are not known. `automatic` is `core` only when the job has exactly one rank for each usable core and no other job
/// has claimed any of them.
core_plan plan_cores(run_options const& options);

}  // namespace atl::tools
