#pragma once

/// Message passing of GPU memory: columns beside the rows of `atoll bench gpu`, so their keys
/// are those rows'.

#include <cstddef>
#include <string>
#include <vector>

#include "harness/group.hpp"

namespace atl::bench {

/// Says why nothing was measured, as a fact. Ends by a signal if MPI cannot follow such pointers: start it as
/// a job of its own.
/// `how`: "messages" or "puts".
void run_gpu_peers(group& g, std::string const& how, std::vector<std::size_t> const& sizes);

}  // namespace atl::bench
