#pragma once

/// Collectives by messages, for any team and any size: dissemination, binomial trees, Bruck's gather.

#include <cstddef>
#include <cstdint>

#include "engine/collectives/collective.hpp"

namespace atl::engine {

collective* make_dissemination(team_view& team, collective_signature signature, on_done done);
collective* make_tree_broadcast(team_view& team, collective_signature signature, on_done done, void* buffer,
                                std::size_t bytes, std::int32_t root);
collective* make_tree_reduce(team_view& team, collective_signature signature, on_done done,
                             reduction const& what);
collective* make_gather(team_view& team, collective_signature signature, on_done done, void const* mine,
                        std::size_t bytes, void* all);

/// A rank's place in the binomial tree over ranks relative to the root: the parent of v is v without its
/// lowest set bit.
struct tree_place {
  std::int32_t n;
  std::int32_t root;
  std::int32_t v;  ///< this rank, relative to the root

  tree_place(collective const& c, std::int32_t tree_root)
      : n(c.team->rank_n), root(tree_root), v((c.team->rank_me - tree_root + n) % n) {}
  std::int32_t rank_of(std::int32_t relative) const { return (relative + root) % n; }
};
void send_to_children(collective const& c, std::int32_t root, void const* data, std::size_t bytes,
                      std::size_t alignment = transport::buffer_alignment);

}  // namespace atl::engine
