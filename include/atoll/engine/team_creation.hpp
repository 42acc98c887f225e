#pragma once

/// The birth and the end of teams.

#include <cstddef>
#include <cstdint>

#include <atoll/base/config.hpp>
#include <atoll/engine/team.hpp>

namespace atl::engine {

/// Collective over `parent`, blocking; calls `progress` while waiting. Members that give the same color form
/// a team, in the order of their keys (ties: ranks in the parent). Null with a negative color.
ATOLL_EXPORT team_view* split_team(team_view& parent, std::int32_t color, std::int32_t key,
                                   bool (*progress)());
/// The same from lists: each member of `parent` gives the ranks in the parent of its new team, all members of
/// a new team the same list. Null if the list does not have the caller. Synchronises only the new team.
ATOLL_EXPORT team_view* create_team(team_view& parent, std::int32_t const* ranks, std::size_t count,
                                    bool (*progress)());
/// Collective; nothing may be under way on the team. With `progress`, returns after all members have entered.
ATOLL_EXPORT void destroy_team(team_view& team, bool (*progress)());

}  // namespace atl::engine
