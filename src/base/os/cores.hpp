#pragma once

/// How much processor this process may use.

#include <vector>

namespace atl::os {

/// Cores in the affinity mask, by number, ascending.
std::vector<int> affinity_cores();

/// Limit that the control groups above this process put on processor time, in cores; 0 when there is none.
/// Understands versions 1 and 2, and the mixture of both. `root` stands in for "/" in tests.
double cgroup_core_quota(char const* root = "");

/// Cores that can run at the same time: the affinity mask within the control group's quota
/// (rounded down, at least 1).
int usable_cores();

}  // namespace atl::os
