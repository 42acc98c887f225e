#pragma once

/// Large arrays reduced for all, over several hosts.

#include <cstddef>

#include "engine/collectives/collective.hpp"

namespace atl::engine {

/// Is this so large that each host had better combine a share of it, instead of all going up and down a tree?
bool goes_by_shares(team_view const& team, std::size_t bytes);
/// Of a team on several hosts.
collective* make_share_reduce(team_view& team, collective_signature signature, on_done done,
                              reduction const& what);

}  // namespace atl::engine
