#pragma once

/// Doorbells: sleeping and waking between processes of a host, by futex on a word of the sleeper's shared
/// memory.
///
/// Whoever wants to sleep announces it (sets the bell's lowest bit), looks once more at everything that it
/// waits for, and then sleeps for as long as the bell has that value. Whoever has published something looks at
/// the bit and rings if it is set: adds one, which clears the bit, so that of many senders only the first pays
/// for the system call.
///
/// Between the store of the one and the load of the other both sides need a fence, else each may miss the
/// other. Senders have none: it would cost every message more than the message. Instead announce() has the
/// kernel execute one at the cores of all ranks. So either the sender's load comes after it and sees the bit,
/// or its publication came before it and the sleeper's last look sees that. Where the kernel cannot do this,
/// a wake-up can be missed in a window of nanoseconds, and sleeps must be short.
///
/// Who waits for a network, too, sleeps on descriptors: its bell names an event descriptor, and is rung by that.

#include <atomic>
#include <cstdint>

#include "base/os/membarrier.hpp"

namespace atl {

/// What one process sleeps on; read by those who publish for it. A line to itself. Lowest bit: somebody
/// sleeps or is about to. Zero-filled memory is a silent bell.
struct alignas(64) doorbell {
  std::atomic<std::uint32_t> word;
  std::atomic<std::uint32_t>
      event;  ///< number of its event descriptor, plus one; 0: futex. Set before anybody rings
};

/// How many threads sleep or are about to, of all processes that share it: for those who publish to many.
using sleeper_count = std::atomic<std::uint32_t>;

/// Longest sleep where a wake-up can be missed.
inline constexpr std::int64_t longest_unsure_sleep_ns = 1'000'000;
/// The same where nothing rings: nobody does, or a network cannot.
inline constexpr std::int64_t brief_sleep_ns = 200'000;

/// For wake(), which has seen that value.
void ring(doorbell& peer, std::uint32_t seen) noexcept;

/// Wakes the owner of `peer` if it sleeps or is about to. Call it after the publication that it shall see.
inline void wake(doorbell& peer) noexcept {
  std::atomic_signal_fence(std::memory_order_seq_cst);  // the processor's fence is the sleeper's: see above
  std::uint32_t const seen = peer.word.load(std::memory_order_relaxed);
  if ((seen & 1U) != 0) [[unlikely]]
    ring(peer, seen);
}

/// True if anybody may sleep. As wake(), after a publication; for those who publish to many at once.
inline bool any_sleeper(sleeper_count const& sleepers) noexcept {
  std::atomic_signal_fence(std::memory_order_seq_cst);
  return sleepers.load(std::memory_order_relaxed) != 0;
}

/// Announces that a thread of the owner of `mine` is going to sleep. It must look once more before it calls
/// sleep(), and withdraw() in the end. `remote_fences`: all processes that may ring have joined.
/// @return  what to give to sleep(); never 0
inline std::uint32_t announce(doorbell& mine, sleeper_count& sleepers, bool remote_fences) noexcept {
  sleepers.fetch_add(1, std::memory_order_relaxed);
  // Acquire: what a ringer published before is seen by the look that follows.
  std::uint32_t const value = mine.word.fetch_or(1, std::memory_order_acq_rel) | 1U;
  if (!remote_fences || !os::fence_joined_processes()) std::atomic_thread_fence(std::memory_order_seq_cst);
  return value;
}

/// Sleeps until somebody rings, or for so long; where bells are rung by descriptors, also until `other` is readable. May
/// return earlier.
void sleep(doorbell const& mine, std::uint32_t announced, std::int64_t longest_ns, int other = -1) noexcept;

/// Ends what announce() began. The bit stays: other threads may rely on it, and the next sender clears it.
inline void withdraw(sleeper_count& sleepers) noexcept { sleepers.fetch_sub(1, std::memory_order_relaxed); }

}  // namespace atl
