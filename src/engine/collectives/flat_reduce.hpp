#pragma once

/// Reductions inside a host, to all or to one. What fits into a line travels in it. Longer arrays go piece by
/// piece through blocks of transit memory that peers read:
///
///   small pieces  publish a copy of the contribution; when all have, combine everybody's, in rank order: all
///                 ranks or only the root, for which the others do not wait.
///   others        publish a copy of the contribution; when all have, combine everybody's share of this rank
///                 and publish that. All ranks or only the root copy the others' shares when they are there.
///
/// Every share is combined by one rank, or by all in the same order, so all get the same bits. If transit
/// memory is used up somewhere, the line says so. Then all go on with the tree by messages; where only the
/// root reads the lines, it gets the piece by a message instead.

#include "engine/collectives/collective.hpp"

namespace atl::engine {

/// For teams with a channel. `there`: gets the number of elements at the front of the result that are complete
/// so far, or null.
collective* make_flat_reduce(team_view& team, collective_signature signature, on_done done,
                             reduction const& what, std::size_t* there = nullptr);

}  // namespace atl::engine
