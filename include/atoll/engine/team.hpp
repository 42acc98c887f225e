#pragma once

/// Teams and collectives: the engine's non-blocking, type-erased forms.
///
/// A collective's `done` runs once, during internal progress of the process, when this rank's part is
/// complete; it must only hand the news on (to a persona's queue). All members start the collectives of a
/// team in the same order, from the thread that holds the master persona.

#include <cstddef>
#include <cstdint>

#include <upcxx/detail/config.hpp>

namespace atl::engine {

/// What programs may know of a team without a call.
struct team_view {
  std::uint64_t id = 0;
  std::int32_t rank_me = 0;
  std::int32_t rank_n = 1;
  std::int32_t first = 0;  ///< world rank of team rank 0, if the members are consecutive
  bool consecutive = true;
  std::uint64_t objects = 0;  ///< distributed objects constructed over this team, ever
};

struct team_data;

ATOLL_EXPORT team_view& world_team();
ATOLL_EXPORT team_view& local_team();
ATOLL_EXPORT std::int32_t team_to_world(team_view const& team, std::int32_t team_rank);
/// Rank in the team of a world rank, or `otherwise`.
ATOLL_EXPORT std::int32_t team_from_world(team_view const& team, std::int32_t world_rank,
                                          std::int32_t otherwise);
/// Team with this id in this process, or null.
ATOLL_EXPORT team_view* find_team(std::uint64_t id);

struct on_done {
  void (*call)(void* context);
  void* context;
};

/// a := combine(a, b) for `count` elements.
using combine_function = void (*)(void* a, void const* b, std::size_t count, void const* operation);

/// Completes when every member has entered.
ATOLL_EXPORT void start_barrier(team_view& team, on_done done);

/// Root's bytes go to every member's buffer. The buffer is in use until done.
ATOLL_EXPORT void start_broadcast(team_view& team, void* buffer, std::size_t bytes, std::int32_t root,
                                  on_done done);

/// Element-wise reduction of `count` elements of `element_bytes` into `target`, on `root` or (root < 0)
/// everywhere. `target` holds this rank's contribution on entry and is in use until done; on other ranks than
/// root it is scratch.
ATOLL_EXPORT void start_reduce(team_view& team, void* target, std::size_t count, std::size_t element_bytes,
                               combine_function combine, void const* operation, std::int32_t root,
                               on_done done);

/// Every member's `bytes` bytes to every member, in rank order: `all` has room for rank_n * bytes.
ATOLL_EXPORT void start_gather_all(team_view& team, void const* mine, std::size_t bytes, void* all,
                                   on_done done);

/// Blocks until every member has entered; calls `progress` while waiting (user or internal level).
ATOLL_EXPORT void wait_barrier(team_view& team, bool (*progress)());

}  // namespace atl::engine
