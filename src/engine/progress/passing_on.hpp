#pragma once

/// Messages to all ranks of a host in one bundle, which one of them passes on (ATOLL_BUNDLES_BY_HOST).

#include "bootstrap/placement.hpp"
#include "engine/network/network_messages.hpp"

namespace atl::engine {

/// Sets what that needs, for the rank that is at that place.
void bundle_by_host(network_messages::shape& what, bootstrap::placement const& here);

}  // namespace atl::engine
