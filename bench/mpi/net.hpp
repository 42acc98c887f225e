#pragma once

/// Message passing between two hosts: columns beside the rows of `atoll bench net`, so their keys are those rows'.

#include <cstddef>
#include <vector>

#include "harness/group.hpp"

namespace atl::bench {

/// `config` without lines, which two hosts do not share.
void run_net_peers(group_config const& config, std::vector<std::size_t> const& sizes);

}  // namespace atl::bench
