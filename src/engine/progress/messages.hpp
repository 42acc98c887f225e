#pragma once

/// What arrives, for those who make progress. Sending is in <atoll/engine/am.hpp>.

#include <cstdint>

#include <atoll/engine/am.hpp>

namespace atl::engine {

/// am_begin() of a message of the engine's with data for a rank of another host: it is written where it leaves from, however long
/// the network has room for. It does not grow.
void am_begin_data(outgoing& out, std::int32_t target, std::size_t bytes, pressure when_full,
                   std::size_t alignment = buffer_alignment);

/// The same of what needs no place in the order of messages to that rank: it may go by way of another rank of its host
/// (ATOLL_BUNDLES_BY_HOST).
void am_begin_unordered(outgoing& out, std::int32_t target, std::size_t bytes, pressure when_full,
                        std::size_t alignment = buffer_alignment);
/// Sends a short message of the engine's. False: it is for a rank of this host, or cannot leave now, alone and in one step of the
/// network's.
bool am_at_once(std::int32_t target, function_token token, void const* data, std::size_t bytes) noexcept;
/// am_short() of such a message, with pressure::always.
void am_short_unordered(std::int32_t target, function_token token, void const* data, std::size_t bytes);

/// Takes user-level messages that poll() finds. Set by the front end before start.
extern void (*message_sink)(message*);
/// Does the calling thread run the calls that arrive? If not, another one does, and makes room. Set by the front end before start.
extern bool (*runs_calls)() noexcept;

/// As am_short() with pressure::always. `kept_back` is one more until the target gets the message without this rank's
/// progress; it changes in progress, under the engine's lock.
void am_counted(std::int32_t target, function_token token, void const* data, std::size_t bytes,
                std::uint32_t& kept_back);

/// am_short() of an acknowledgement: nobody at this rank waits for it. Between hosts it may leave later, in this rank's next
/// progress of any level at the latest.
void am_acknowledge(std::int32_t target, function_token token, void const* data, std::size_t bytes);

/// Next request or reply, for user-level progress; runs engine-level messages on the way. Null if none.
/// `in_place`: it will be used soon, so it may stay where its sender put it and need not count as part
/// of private memory. Sets `moved` if any message was taken, engine-level ones included.
message* next_user_message(bool in_place, bool& moved);
/// Is this a request that must not run yet (held_back.hpp)? Then it is kept, and comes back from
/// next_user_message().
bool hold_back(message* request);
/// Are there any?
bool any_held_back() noexcept;

/// Internal progress for who must get on though nothing moves and this rank's memory for messages is full: takes one
/// message in, whatever the limit. True if there was one.
bool take_in_over_limit();
/// poll(), of who waits at internal level: peers may come to what is waited for only when this rank has taken what they send first, and here
/// nothing runs that would free memory.
bool poll_in_wait();

/// A place in the order of arrival behind all that ranks of this host had sent here before whatever of theirs
/// this thread has seen. Reads a line that senders write.
std::uint64_t sent_here() noexcept;
/// Has everything up to there been taken in? Or must it wait, as private memory is used up?
bool taken_in(std::uint64_t place);
/// Are messages to a rank of this host parked here?
bool parked_for(std::int32_t world_rank);

/// Sends what was parked and goes on with all work that is open; true if anything moved.
/// Part of user-level progress.
bool advance();

}  // namespace atl::engine
