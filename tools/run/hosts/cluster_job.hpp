#pragma once

/// One run of a program on several hosts: by a launcher of clusters, which this one watches.

#include "run/hosts/cluster_plan.hpp"
#include "run/options.hpp"

namespace atl::tools {

/// Runs it to the end; returns the exit status. Signals that end jobs are handed on, and when the time is up, or a host is lost for which the launcher
/// would wait, the launcher is ended.
int run_cluster(cluster_plan const& plan, run_options const& options);

}  // namespace atl::tools
