#pragma once

/// The lines through which the two ranks of a pair meet (harness/group.hpp).

#include "harness/group.hpp"

namespace atl::bench {

/// Maps them in both ranks, also where the ranks believe that they are on different hosts and address nothing of each
/// other's; null on both if they really are. Collective, two ranks. They stay until the process ends.
shared_lines* map_pair_lines();

}  // namespace atl::bench
