#pragma once

/// Teams: ordered sets of ranks.

#include <cstddef>
#include <cstdint>

#include <atoll/base/config.hpp>

namespace atl::engine {

/// What programs may know of a team without a call.
struct team_view {
  std::uint64_t id = 0;
  std::int32_t rank_me = 0;
  std::int32_t rank_n = 1;
  std::int32_t first = 0;     ///< world rank of team rank 0
  std::int32_t stride = 1;    ///< from one member's world rank to the next one's; 0: there is a table
  std::uint64_t objects = 0;  ///< distributed objects constructed over this team, ever
  void* handle = nullptr;     ///< the program's object for it, if there is one yet
};

struct team_data;

ATOLL_EXPORT team_view& world_team();
ATOLL_EXPORT team_view& local_team();
ATOLL_EXPORT std::int32_t team_to_world(team_view const& team, std::int32_t team_rank);
/// Rank in the team of a world rank, or `otherwise`. Takes constant time, or logarithmic with a table.
ATOLL_EXPORT std::int32_t team_from_world(team_view const& team, std::int32_t world_rank,
                                          std::int32_t otherwise);
/// Team with this id in this process, or null. From any thread.
ATOLL_EXPORT team_view* find_team(std::uint64_t id);

}  // namespace atl::engine
