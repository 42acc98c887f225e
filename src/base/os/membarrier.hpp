#pragma once

/// Fences at the cores of other processes, so that a side that acts often needs none of its own.
///
/// Two processes that each store one word and then load the other's must fence in between,
/// or both may miss the other's store. If one side does so a million times as often as the other,
/// the rare side can pay for both: the kernel interrupts every core that runs a process which has joined,
/// and a fence is executed there.

#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace atl::os {

/// From now on fence_joined_processes() of other processes reaches this one. False where the kernel has no
/// such call (before Linux 4.16) or a sandbox forbids it.
inline bool join_remote_fences() noexcept {
  return ::syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED, 0, 0) == 0;
}

/// A full fence here and at every core that runs a process that has joined. A few microseconds.
inline bool fence_joined_processes() noexcept {
  return ::syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL_EXPEDITED, 0, 0) == 0;
}

}  // namespace atl::os
