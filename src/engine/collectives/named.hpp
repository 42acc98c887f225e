#pragma once

/// Collectives that other calls consist of: they bear the name of what the program has called. Else as those of
/// <atoll/engine/collectives.hpp>.

#include <atoll/engine/collectives.hpp>

#include "engine/collectives/collective.hpp"

namespace atl::engine {

void start_broadcast(team_view& team, collective_signature signature, void* buffer, std::size_t bytes,
                     std::int32_t root, on_done done);
void start_reduce(team_view& team, collective_signature signature, reduction const& what, on_done done);
void start_gather_all(team_view& team, collective_signature signature, void const* mine, std::size_t bytes,
                      void* all, on_done done);

}  // namespace atl::engine
