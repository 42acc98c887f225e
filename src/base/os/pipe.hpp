#pragma once

/// Pipes between processes.

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/error.hpp"
#include "base/os/unique_fd.hpp"

namespace atl::os {

struct pipe_ends {
  unique_fd reading;
  unique_fd writing;
};

/// Closed in programs that this process starts. Throws startup_error.
inline pipe_ends make_pipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0)
    throw startup_error(format("cannot create a pipe: %s", std::strerror(errno)));
  return {unique_fd(ends[0]), unique_fd(ends[1])};
}

/// Both ends above the numbers that a program expects, closed as above. For handlers of signals, too. False: there are none.
inline bool make_pipe_above(int (&ends)[2]) noexcept {
  constexpr int first_number = 16;
  int low[2];
  if (::pipe2(low, O_CLOEXEC) != 0) return false;
  for (int i = 0; i < 2; ++i) {
    ends[i] = ::fcntl(low[i], F_DUPFD_CLOEXEC, first_number);
    ::close(low[i]);
  }
  return ends[0] >= 0 && ends[1] >= 0;
}

}  // namespace atl::os
