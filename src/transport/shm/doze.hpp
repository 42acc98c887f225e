#pragma once

/// Sleeping and waking between ranks of a host, by futex on a word of the sleeper's region.
///
/// Whoever wants to sleep announces it (sets the doorbell's lowest bit), looks once more at everything that
/// it waits for, and then sleeps for as long as the doorbell has that value. Whoever has published something
/// looks at the bit and rings if it is set: adds one, which clears the bit, so that of many senders only the
/// first pays for the system call.
///
/// Between the store of the one and the load of the other both sides need a fence, else each may miss the
/// other. Senders have none: it would cost every message more than the message. Instead announce() has the
/// kernel execute one at the cores of all ranks. So either the sender's load comes after it and sees the bit,
/// or its publication came before it and the sleeper's last look sees that. Where the kernel cannot do this,
/// a wake-up can be missed in a window of nanoseconds, and sleeps must be short.

#include <atomic>
#include <cstdint>

#include "base/os/futex.hpp"
#include "base/os/membarrier.hpp"
#include "transport/shm/layout.hpp"

namespace atl::shm {

/// Longest sleep where a wake-up can be missed.
inline constexpr std::int64_t longest_unsure_sleep_ns = 1'000'000;

inline void ring_bell(rank_control& peer, std::uint32_t bell) noexcept {
  // If another sender was faster, it woke the sleeper; if that announced itself again meanwhile, its look
  // came after our publication.
  if (peer.doorbell.compare_exchange_strong(bell, bell + 1, std::memory_order_release,
                                            std::memory_order_relaxed)) {
    os::futex_wake(peer.doorbell);
  }
}

/// Wakes `peer` if it sleeps or is about to. Call it after the publication that it shall see.
inline void wake(rank_control& peer) noexcept {
  std::atomic_signal_fence(std::memory_order_seq_cst);  // the processor's fence is the sleeper's: see above
  std::uint32_t const bell = peer.doorbell.load(std::memory_order_relaxed);
  if ((bell & 1U) != 0) [[unlikely]]
    ring_bell(peer, bell);
}

/// True if a rank of the host may sleep. As wake(), after a publication; for those who publish to many at
/// once.
inline bool any_sleeper(rank_control const& first) noexcept {
  std::atomic_signal_fence(std::memory_order_seq_cst);
  return first.sleepers.load(std::memory_order_relaxed) != 0;
}

/// Announces that a thread of this rank is going to sleep. It must look once more before it calls sleep(),
/// and withdraw() in the end. `first`: control area of local rank 0. `remote_fences`: all ranks of the host
/// have joined.
/// @return  what to give to sleep(); never 0
inline std::uint32_t announce(rank_control& me, rank_control& first, bool remote_fences) noexcept {
  first.sleepers.fetch_add(1, std::memory_order_relaxed);
  // Acquire: what a ringer published before is seen by the look that follows.
  std::uint32_t const bell = me.doorbell.fetch_or(1, std::memory_order_acq_rel) | 1U;
  if (!remote_fences || !os::fence_joined_processes()) std::atomic_thread_fence(std::memory_order_seq_cst);
  return bell;
}

/// Sleeps until somebody rings, or for so long. May return earlier.
inline void sleep(rank_control const& me, std::uint32_t bell, std::int64_t longest_ns) noexcept {
  os::futex_wait(me.doorbell, bell, longest_ns);
}

/// Ends what announce() began. The bit stays: other threads may rely on it, and the next sender clears it.
inline void withdraw(rank_control& first) noexcept { first.sleepers.fetch_sub(1, std::memory_order_relaxed); }

}  // namespace atl::shm
