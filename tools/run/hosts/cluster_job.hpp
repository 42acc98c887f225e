#pragma once

/// One run of a program on several hosts: by a launcher of clusters, which this one watches.

#include <string>
#include <vector>

#include "run/hosts/host_list.hpp"
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
};
cluster_plan plan_cluster(run_options const& options);

/// Runs it to the end; returns the exit status. Signals that end jobs are handed on, and when the time is up, or a host is lost for which the launcher
/// would wait, the launcher is ended.
int run_cluster(cluster_plan const& plan, run_options const& options);

}  // namespace atl::tools
