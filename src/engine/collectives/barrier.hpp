#pragma once

/// Barriers, and meetings of another name.

#include "base/collective_signature.hpp"
#include "engine/collectives/collective.hpp"

namespace atl::engine {

/// Like wait_barrier(), with another name.
void meet(team_view& team, collective_signature signature, bool (*progress)());

}  // namespace atl::engine
