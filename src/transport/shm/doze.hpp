#pragma once

/// Sleeping and waking between ranks of a host, by futex on a word of the sleeper's region.
///
/// A sender looks at the receiver's `sleeping` flag after publishing, without a fence; a wake-up can
/// therefore be missed in a narrow window. Sleeps are timed (at most `longest_sleep_ns`), so a missed one
/// costs only that.

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <climits>
#include <cstdint>
#include <ctime>

#include "transport/shm/layout.hpp"

namespace atl::shm {

inline constexpr long longest_sleep_ns = 1'000'000;

inline void ring_bell(rank_control& peer) {
  peer.doorbell.fetch_add(1, std::memory_order_release);
  syscall(SYS_futex, &peer.doorbell, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

/// Wakes `peer` if it sleeps.
inline void wake(rank_control& peer) {
  if (peer.sleeping.load(std::memory_order_relaxed) != 0) [[unlikely]]
    ring_bell(peer);
}

/// Sleeps until woken or for a millisecond, unless `nothing_to_do` turns false after the flag is up.
template <class Predicate>
void doze(rank_control& me, rank_control& first, Predicate nothing_to_do) {
  std::uint32_t const bell = me.doorbell.load(std::memory_order_acquire);
  first.sleepers.fetch_add(1, std::memory_order_relaxed);
  me.sleeping.fetch_add(1, std::memory_order_seq_cst);  // before the last look at the queue
  if (nothing_to_do()) {
    timespec const limit{0, longest_sleep_ns};
    syscall(SYS_futex, &me.doorbell, FUTEX_WAIT, bell, &limit, nullptr, 0);
  }
  me.sleeping.fetch_sub(1, std::memory_order_relaxed);
  first.sleepers.fetch_sub(1, std::memory_order_relaxed);
}

}  // namespace atl::shm
