#pragma once

#include <sys/wait.h>

namespace atl::os {

/// What shells make of what waitpid() tells: the status of a process, or 128 + the number of the signal that has ended it.
inline int exit_status_of(int wait_status) noexcept {
  return WIFSIGNALED(wait_status) ? 128 + WTERMSIG(wait_status) : WEXITSTATUS(wait_status);
}

}  // namespace atl::os
