#pragma once

/// What an initiator keeps of a round trip until the reply comes.

#include <cstddef>

#include <atoll/engine/am.hpp>
#include <upcxx/detail/persona_state.hpp>

namespace atl::rt {

/// The address of this record is the cookie that travels with the call and comes back first in the reply.
struct pending_rpc {
  void (*on_reply)(pending_rpc*, engine::message*);  ///< owns both
  persona_state* initiator;  ///< who takes the reply; null: progress of any level, which then runs nothing
                             ///< of the program's (completion_apart.hpp)
};

/// Calls of ranks that have arrived here and are not done: what they wait for is not there, or the futures that
/// they have returned are not ready. Of the holder of the master persona.
extern ATOLL_EXPORT std::size_t unfinished_calls;

/// Counts calls for the diagnostics record; one relaxed store each.
ATOLL_EXPORT void note_rpc(std::int32_t target, bool round_trip) noexcept;

}  // namespace atl::rt
