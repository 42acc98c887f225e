#pragma once

/// Flags: counters in host shared memory that one rank raises and another one looks at, and waiting for them.

#include <atomic>
#include <cstdint>

#include <atoll/base/config.hpp>
#include <atoll/engine/host_map.hpp>
#include <atoll/engine/on_done.hpp>

namespace atl::engine {

/// A line to itself, so that no two ranks write to one.
struct alignas(64) flag_line {
  std::atomic<std::uint64_t> value{0};
};

/// Raises the flag_line at `flag`, in the heap of any rank, by one, to `value`, and wakes its owner if that
/// sleeps. What the calling thread has stored or put to host memory before is seen by who sees the value
/// (release). A flag has one writer.
///
/// A store where this process reaches the owner's memory; else a message,
/// which the owner takes at any progress level, and which waits in private memory, whatever the limit of that, while
/// there is no room for it. Never waits.
ATOLL_EXPORT void raise_flag(host_address const& flag, std::uint64_t value);
/// The second way, whoever owns it. Messages overtake each other, so the owner counts them: who has waited for
/// a value knows that no message up to it is under way any more.
ATOLL_EXPORT void raise_flag_by_message(host_address const& flag);

/// Makes internal progress until look(context) is true, and waits adaptively in between: spins or yields,
/// and in the end sleeps until a peer raises a flag or sends something.
ATOLL_EXPORT void wait_for(bool (*look)(void* context), void* context);

/// One round of internal progress for callers that look at flags in loops of their own: after some that were
/// fruitless it gives the core away where ranks outnumber cores.
ATOLL_EXPORT void poll_for_flags();

/// Has look(context) called during progress of any level until it is true; then `done` runs. Both run under
/// the engine's lock and may not communicate.
ATOLL_EXPORT void watch(bool (*look)(void* context), void* context, on_done done);

}  // namespace atl::engine
