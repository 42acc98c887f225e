#pragma once

/// Teams and collectives: the engine's non-blocking, type-erased forms.
///
/// A collective's `done` runs once, during internal progress of the process, when this rank's part is
/// complete; it must only hand the news on (to a persona's queue). All members start the collectives of a
/// team in the same order, from the thread that holds the master persona; if ranks notice that they did not,
/// the job ends with a message that says what each of them called.

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

/// Element-wise reduction of the `count` elements of `element_bytes` at every member's `source` into
/// `target`, on `root` or (root < 0) everywhere. Both are in use until done; they are equal or disjoint.
/// Where there is no result, `target` may be null, and otherwise is scratch. `operation_code` is compared
/// among members unless it is 0.
ATOLL_EXPORT void start_reduce(team_view& team, void const* source, void* target, std::size_t count,
                               std::size_t element_bytes, combine_function combine, void const* operation,
                               std::int32_t root, on_done done, std::uint8_t operation_code = 0);

/// Every member's `bytes` bytes to every member, in rank order: `all` has room for rank_n * bytes.
ATOLL_EXPORT void start_gather_all(team_view& team, void const* mine, std::size_t bytes, void* all,
                                   on_done done);

/// An object of a size that only its owner knows. `data` given to these is aligned to 64 bytes, or to what
/// `pack` reported.
struct object_functions {
  /// Serialises the object; the buffer lives until the next call or the end of the collective.
  struct packed {
    std::byte const* data;
    std::size_t bytes;
    std::size_t alignment;
  };
  packed (*pack)(void* object);
  void (*replace)(void* object, std::byte const* data, std::size_t bytes);
  void (*combine)(void* object, std::byte const* data, std::size_t bytes);
};

/// Root's object replaces every other member's.
ATOLL_EXPORT void start_broadcast_object(team_view& team, object_functions const& functions, void* object,
                                         std::int32_t root, on_done done);
/// Combines all objects on `root`, or (root < 0) everywhere.
ATOLL_EXPORT void start_reduce_object(team_view& team, object_functions const& functions, void* object,
                                      std::int32_t root, on_done done);

/// Blocks until every member has entered; calls `progress` while waiting (user or internal level).
ATOLL_EXPORT void wait_barrier(team_view& team, bool (*progress)());

}  // namespace atl::engine
