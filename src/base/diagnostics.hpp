#pragma once

/// What a rank shows of itself to whoever looks in from outside: the launcher after a crash or a time-out.
///
/// The record lives in memory that the launcher maps too (bootstrap `local`), else in private memory. Only
/// slow paths write to it: injection of messages, entering a wait, collectives. Inline put and get do not.

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace atl {

/// The communication call that a rank entered last.
enum class activity : std::uint32_t {
  none,
  init,
  barrier,
  collective,
  rpc,
  rpc_ff,
  rma,
  copy,
  wait,
  discharge,
  team,
  segment,  ///< its end
  backpressure,
};

/// Life of a rank as the launcher sees it.
enum class rank_state : std::uint32_t { absent, attached, initialized, finalized };

/// One rank's record. All counters are written by the rank alone, relaxed: to others they are a picture,
/// not a protocol.
struct alignas(64) rank_diagnostics {
  std::atomic<rank_state> state{rank_state::absent};
  std::atomic<std::int32_t> pid{0};
  std::atomic<activity> last_call{activity::none};
  std::atomic<std::int32_t> peer{-1};  ///< world rank that the last call concerned, or -1
  /// Puts, gets, atomics and copies that have begun and not come to their end here; those that leave together and have one
  /// completion count once. The rank itself counts here (open_work).
  std::atomic<std::uint64_t> operations_owed{0};
  // Apart from the last call, which may be one of a callback that runs meanwhile.
  std::atomic<activity> waits_in{activity::none};  ///< the call that waits
  std::atomic<std::int32_t> waits_for{-1};         ///< world rank, or -1
  std::atomic<std::uint64_t> entered_ns{0};  ///< steady clock when the wait was seen to be long; 0: not yet
  std::atomic<std::uint64_t> rpcs_sent{0};
  std::atomic<std::uint64_t> rpcs_run{0};
  std::atomic<std::uint64_t> replies_awaited{0};  ///< round trips whose reply has not come
  std::atomic<std::uint64_t> messages_parked{0};  ///< sends that found no room and wait in private memory
  std::atomic<std::uint64_t> collectives_open{0};
  std::atomic<std::uint64_t> bytes_in_private{0};
  std::atomic<std::uint64_t> streams_awaited{0};  ///< where the program waits for streams of its own to come
  // The collective that was started last; brought up to date when a wait gets long.
  std::atomic<std::uint64_t> collective_team{0};       ///< id; 0: none
  std::atomic<std::uint64_t> collective_signature{0};  ///< see collective_signature.hpp
  std::atomic<std::uint32_t> collective_number{0};     ///< among those of the team, from 0
};

/// Name of an activity for people, for example "rpc".
char const* to_string(activity what) noexcept;

}  // namespace atl
