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

}  // namespace atl::os
