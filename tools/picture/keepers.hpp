#pragma once

/// The keepers of this host, which can say what the ranks of jobs on several hosts are doing.

#include <string>

namespace atl::tools {

/// Has the keepers that this user may signal ask all hosts of their jobs; each says it on the standard error of its ranks.
/// @param job  of `atoll run`; empty: all jobs.
/// @returns how many jobs there were. A host may have several keepers of a job; those that `atoll run` has given no name count as one each.
int ask_keepers(std::string const& job);

}  // namespace atl::tools
