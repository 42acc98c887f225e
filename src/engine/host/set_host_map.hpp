#pragma once

/// Setting the map of the host's memory, whose inline part (host_map.hpp) knows consecutive ranks only.

#include <cstddef>
#include <cstdint>

#include <atoll/engine/host_map.hpp>

#include "bootstrap/placement.hpp"

namespace atl::engine {

/// Sets `hosts` for the process at `place`, which must live until `hosts` is cleared. `regions` is the region of local
/// rank 0; of `map`, what ranks have no part in: stride and offsets.
void set_host_map(bootstrap::placement const& place, std::byte* regions, host_map map);

}  // namespace atl::engine
