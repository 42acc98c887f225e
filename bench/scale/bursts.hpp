#pragma once

/// Small calls from all ranks to random ranks of other hosts, so many before each makes progress: what bundles by host are for
/// (src/engine/network/network_by_host.cpp).

#include <cstddef>
#include <cstdint>

#include "scale/model.hpp"

namespace atl::scale {

struct burst {
  std::int32_t calls = 16;      ///< of each rank
  std::size_t bytes = 8;        ///< of data in each
  std::uint64_t seed = 1;       ///< which ranks
  std::uint64_t arrived = 0;    ///< calls that have come to the rank that they were for
  std::uint64_t misplaced = 0;  ///< that have come to another
};

/// Plays it to the end, on a job of several hosts.
tally play_burst(model& on, burst& what);

}  // namespace atl::scale
