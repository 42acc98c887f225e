#pragma once

/// Reductions over the members up to each.

#include "engine/collectives/collective.hpp"

namespace atl::engine {

/// The root of `what` does not matter.
collective* make_scan(team_view& team, collective_signature signature, on_done done, reduction const& what);

/// The same of values so small that everyone may as well hear all of them: in the fewest steps, wherever ranks are.
collective* make_gathered_scan(team_view& team, collective_signature signature, on_done done,
                               reduction const& what);

}  // namespace atl::engine
