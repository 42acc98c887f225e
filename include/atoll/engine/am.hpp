#pragma once

/// Active messages: a function token and a payload that the sender writes straight into the buffer that
/// leaves.
///
/// Sending is `begin` (negotiates a buffer of at least the size asked for), writing, then `commit`. The first
/// `header_bytes` of every buffer belong to the engine; payload positions count from the start of the buffer,
/// which is aligned to 64 bytes or to what the sender asked for where it arrives. Where it is written it may be a
/// network's and aligned to less: write bytes (memcpy), and nothing before `header_bytes`.
///
/// An arrived message belongs to its handler, which must release it.
/// The payload stays at its address until then.

#include <cstddef>
#include <cstdint>
#include <span>

#include <atoll/base/config.hpp>
#include <atoll/engine/token.hpp>
#include <atoll/transport/message.hpp>

namespace atl::engine {

using transport::buffer_alignment;
using transport::header_bytes;
using transport::lane;
using transport::message;
using transport::message_kind;
using transport::outgoing;
using transport::task;

using handler = void (*)(message*);

/// What to do when there is no room for a message.
enum class pressure : std::uint8_t {
  wait,    ///< make internal progress until there is (outside callbacks)
  park,    ///< keep the message in private memory until there is, within its limit (inside callbacks)
  always,  ///< the same, whatever the limit: for answers and for the engine, whose number is bounded elsewhere
};

/// Negotiates a buffer for a message of at most `bytes` (header included) to world rank `target`, on the lane of
/// what it will be (lane_of).
/// @throws atl::bad_shared_alloc when neither room nor private memory is left; not with pressure::always.
ATOLL_EXPORT void am_begin(outgoing& out, std::int32_t target, std::size_t bytes, pressure when_full,
                           std::size_t alignment = buffer_alignment, lane way = lane::control);

/// The same in immediate mode: false where am_begin() would wait, as no queue, buffer or credit has room, or no memory is left.
/// Nothing has happened then. Between hosts a message has room while no other one waits for its peer: it may leave later. Makes no progress.
[[nodiscard]] ATOLL_EXPORT bool am_try_begin(outgoing& out, std::int32_t target, std::size_t bytes,
                                             std::size_t alignment = buffer_alignment,
                                             lane way = lane::control);

/// Moves what has been written so far (`used` bytes) to a buffer of at least `bytes`. If that throws (as
/// am_begin), the old buffer has been given back.
ATOLL_EXPORT void am_grow(outgoing& out, std::size_t used, std::size_t bytes, std::size_t alignment,
                          pressure when_full);

/// Sends the buffer: `bytes` of it, header included.
ATOLL_EXPORT void am_commit(outgoing& out, message_kind kind, function_token token, std::size_t bytes);

/// The same where the last of these bytes are still to be copied, from `tail`. A target of this host may begin to
/// read before the copy is complete; it is when this returns.
ATOLL_EXPORT void am_commit_copying(outgoing& out, message_kind kind, function_token token, std::size_t bytes,
                                    std::span<std::byte const> tail);

/// Gives the buffer back unsent.
ATOLL_EXPORT void am_cancel(outgoing& out) noexcept;

/// Gives an arrived message back to the engine, also when the library has ended since, or begun again. Until then
/// its payload can be read.
ATOLL_EXPORT void release(message* arrived) noexcept;

/// Has it arrived since the library began the last time? Nobody waits for the answer to one that has not.
ATOLL_EXPORT bool of_this_period(message const& arrived) noexcept;

/// Sends a small engine-level active message whose handler runs at any progress level. The handler may reply
/// by sending one more, with `pressure::always`.
ATOLL_EXPORT void am_short(std::int32_t target, function_token token, void const* data, std::size_t bytes,
                           pressure when_full = pressure::wait);

/// Makes internal progress: takes arrived messages in, runs engine-level handlers, advances collectives,
/// sends what was parked. Returns true if anything moved.
ATOLL_EXPORT bool poll();

}  // namespace atl::engine
