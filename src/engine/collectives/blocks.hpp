#pragma once

/// One block for each member: from one, to one, from all to all.

#include <cstddef>
#include <cstdint>

#include "engine/collectives/collective.hpp"

namespace atl::engine {

collective* make_scatter(team_view& team, collective_signature signature, on_done done, void const* all,
                         std::size_t bytes, void* mine, std::int32_t root);
collective* make_gather_to_one(team_view& team, collective_signature signature, on_done done,
                               void const* mine, std::size_t bytes, void* all, std::int32_t root);
collective* make_all_to_all(team_view& team, collective_signature signature, on_done done, void const* source,
                            std::size_t bytes, void* target);

}  // namespace atl::engine
