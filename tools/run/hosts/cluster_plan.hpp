#pragma once

/// What a run on several hosts asks of which launcher.

#include <string>
#include <vector>

#include "run/hosts/launchers.hpp"
#include "run/options.hpp"

namespace atl::tools {

/// Runs inside an allocation of Slurm on several nodes, and not as one of its tasks.
bool inside_slurm_allocation();

/// What to ask of a launcher, and which. Throws startup_error.
struct cluster_plan {
  launcher by;
  cluster_start start;
  std::vector<std::string> words;        ///< its command line
  std::vector<std::string> environment;  ///< its environment
  std::vector<std::string> asking;       ///< command line by which its ranks are asked what they are doing
  std::string id;                        ///< of the job
};
cluster_plan plan_cluster(run_options const& options);

}  // namespace atl::tools
