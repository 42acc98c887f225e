#pragma once

/// A small process that outlives a launcher killed with SIGKILL, and ends what the launcher could not.

#include "base/os/unique_fd.hpp"
#include "bootstrap/board.hpp"

namespace atl::tools {

/// The kernel kills the ranks themselves when the launcher dies (PR_SET_PDEATHSIG), but not what they
/// started: the program behind a shell script, for example. The keeper waits for the launcher's death at the
/// other end of a pipe, then kills the process groups of the ranks and everything that carries the job's id
/// in its environment.
class keeper {
 public:
  /// Starts it; call before the ranks are started. It holds none of our descriptors but the pipe.
  explicit keeper(bootstrap::board const& of);
  /// Sends it home.
  ~keeper();
  keeper(keeper const&) = delete;
  keeper& operator=(keeper const&) = delete;

  int pid() const noexcept { return pid_; }

 private:
  os::unique_fd pipe_;
  int pid_ = -1;
};

}  // namespace atl::tools
