#pragma once

/// Setting the map of the host's memory, whose inline part (host_map.hpp) knows consecutive ranks only.

#include <cstddef>
#include <cstdint>

#include <atoll/engine/host_map.hpp>

#include "bootstrap/placement.hpp"

namespace atl::engine {

/// Sets `hosts` for a process of local rank `me`. `regions` is the region of local rank 0; of `map`, what ranks have
/// no part in: stride and offsets. What `ranks` was made from must live until `hosts` is cleared.
void set_host_map(bootstrap::host_ranks const& ranks, std::byte* regions, std::uint32_t me, host_map map);

}  // namespace atl::engine
