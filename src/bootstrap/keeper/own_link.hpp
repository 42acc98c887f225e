#pragma once

#include "bootstrap/keeper/orders.hpp"

namespace atl::keeping {

/// The cable of this host is out, or its interfaces are down: all of those that have the addresses. False where that cannot be known.
bool is_unplugged(card const& mine);

}  // namespace atl::keeping
