#pragma once

/// Sleeping on a 32-bit word that may lie in memory shared between processes.

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <climits>
#include <cstdint>
#include <ctime>

namespace atl::os {

static_assert(sizeof(std::atomic<std::uint32_t>) == sizeof(std::uint32_t) &&
              std::atomic<std::uint32_t>::is_always_lock_free);

/// Sleeps while `word` holds `expected`, at most `timeout_ns`. May wake for no reason.
inline void futex_wait(std::atomic<std::uint32_t> const& word, std::uint32_t expected,
                       std::int64_t timeout_ns) noexcept {
  timespec limit{};
  limit.tv_sec = static_cast<time_t>(timeout_ns / 1'000'000'000);
  limit.tv_nsec = static_cast<long>(timeout_ns % 1'000'000'000);
  // No FUTEX_PRIVATE_FLAG: waiter and waker are different processes.
  ::syscall(SYS_futex, &word, FUTEX_WAIT, expected, &limit, nullptr, 0);
}

/// Wakes all sleepers of `word`; change the word first.
inline void futex_wake(std::atomic<std::uint32_t>& word) noexcept {
  ::syscall(SYS_futex, &word, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

}  // namespace atl::os
