#pragma once

/// Broadcasts inside a host. What fits into a line travels in it: one line from the root, which every member
/// reads.
///
/// Longer arrays go piece by piece through blocks of the root's transit memory: it copies a piece into a block
/// and publishes where that is, the others copy it out, while the root is at the next piece. If transit memory
/// is used up, the line says so, and all go on with the tree by messages.

#include <cstddef>
#include <cstdint>

#include "engine/collectives/collective.hpp"

namespace atl::engine {

/// For teams with a channel. The root has the first `*there` bytes, or all of them (null); what is empty is there
/// with one.
collective* make_flat_broadcast(team_view& team, collective_signature signature, on_done done, void* buffer,
                                std::size_t bytes, std::int32_t root, std::size_t const* there = nullptr);

}  // namespace atl::engine
