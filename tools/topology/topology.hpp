#pragma once

/// Sockets, NUMA nodes and cores of this machine, and which of them ranks are bound to.

#include <string>
#include <vector>

namespace atl::tools {

/// Hardware threads that belong together, by the system's numbers, ascending.
struct cpu_group {
  std::string name;  ///< "socket 0"
  std::vector<int> cpus;
};

/// What may be used of the machine. No group is empty.
struct topology {
  bool known = false;
  std::string source;  ///< "hwloc 2.9.0"; why it is not known
  std::vector<cpu_group> sockets;
  std::vector<cpu_group> numa_nodes;
  std::vector<cpu_group> cores;
};

/// The machine as hwloc sees it, restricted to the hardware threads in `usable`. Not known in builds without it.
topology read_topology(std::vector<int> const& usable);

/// All hardware threads: the first of every core, then the second ones and so on, so that ranks share cores as
/// late as possible.
std::vector<int> cores_first(topology const& machine);

/// The group for a rank: neighbouring ranks together, as many in each as evenly as can be. `groups` is not
/// empty.
cpu_group const& group_of_rank(std::vector<cpu_group> const& groups, int rank, int ranks);

/// "0-3,8".
std::string list_of(std::vector<int> const& numbers);

/// A drawing: a line for each NUMA node, cores as brackets around their hardware threads; then what --bind
/// makes of it with a rank for each core. Each line begins with `indent`.
std::string picture_of(topology const& machine, std::string const& indent);

}  // namespace atl::tools
