#pragma once

/// Collectives by messages, for any team and any size: dissemination, trees, Bruck's gather.

#include <cstddef>
#include <cstdint>

#include "engine/collectives/collective.hpp"
#include "engine/collectives/exchange.hpp"
#include "engine/collectives/share_reduce.hpp"

namespace atl::engine {

collective* make_tree_broadcast(team_view& team, collective_signature signature, on_done done, void* buffer,
                                std::size_t bytes, std::int32_t root);
collective* make_tree_reduce(team_view& team, collective_signature signature, on_done done,
                             reduction const& what);
collective* make_gather(team_view& team, collective_signature signature, on_done done, void const* mine,
                        std::size_t bytes, void* all);

/// By exchange, by shares or by a tree.
inline collective* make_reduce(team_view& team, collective_signature signature, on_done done,
                               reduction const& what) {
  if (what.root < 0 && goes_by_exchange(team, what.bytes()))
    return make_exchange_reduce(team, signature, done, what);
  if (what.root < 0 && goes_by_shares(team, what.bytes()))
    return make_share_reduce(team, signature, done, what);
  return make_tree_reduce(team, signature, done, what);
}

}  // namespace atl::engine
