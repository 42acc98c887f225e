#pragma once

/// Collectives: the engine's non-blocking, type-erased forms.
///
/// A collective's `done` runs once, during internal progress of the process, when this rank's part is
/// complete; it must only hand the news on (to a persona's queue). All members start the collectives of a
/// team in the same order, from the thread that holds the master persona; if ranks notice that they did not,
/// the job ends with a message that says what each of them called.

#include <cstddef>
#include <cstdint>

#include <atoll/base/config.hpp>
#include <atoll/engine/on_done.hpp>
#include <atoll/engine/team.hpp>

namespace atl::engine {

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

// What follows serves other front ends than the one installed today. As the above, but from any thread: it is up to
// the program that all members start a team's collectives in the same order.

/// Of root's rank_n * bytes at `all`, each member gets the block of its rank. `all` is read at the root only. The
/// buffers are in use until done; so it is below.
ATOLL_EXPORT void start_scatter(team_view& team, void const* all, std::size_t bytes, void* mine,
                                std::int32_t root, on_done done);

/// Every member's `bytes` bytes to `root`, in rank order. `all` is written there only.
ATOLL_EXPORT void start_gather(team_view& team, void const* mine, std::size_t bytes, void* all,
                               std::int32_t root, on_done done);

/// Block j of member i's `source` becomes block i of member j's `target`. The two are disjoint.
ATOLL_EXPORT void start_all_to_all(team_view& team, void const* source, std::size_t bytes, void* target,
                                   on_done done);

/// Element by element, the values of all members up to this one, in rank order, this one's included. Source and target
/// are equal or disjoint.
ATOLL_EXPORT void start_scan(team_view& team, void const* source, void* target, std::size_t count,
                             std::size_t element_bytes, combine_function combine, void const* operation,
                             on_done done, std::uint8_t operation_code = 0);

/// Blocks until every member has entered; calls `progress` while waiting (user or internal level).
ATOLL_EXPORT void wait_barrier(team_view& team, bool (*progress)());

}  // namespace atl::engine
