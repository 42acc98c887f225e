#pragma once

/// Small values of all members to all members, by messages: barriers (of nothing), and reductions to all.

#include <cstddef>

#include "engine/collectives/collective.hpp"

namespace atl::engine {

collective* make_dissemination(team_view& team, collective_signature signature, on_done done);

/// Are these few enough bytes for make_exchange_reduce()?
bool goes_by_exchange(team_view const& team, std::size_t bytes);
/// Everyone gets everyone's value and combines them, in one order: equal bits, and half the rounds of a tree up
/// and down.
collective* make_exchange_reduce(team_view& team, collective_signature signature, on_done done,
                                 reduction const& what);

}  // namespace atl::engine
