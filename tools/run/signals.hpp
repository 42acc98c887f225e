#pragma once

/// The signals that whoever runs a job listens to.

#include "base/os/unique_fd.hpp"

namespace atl::tools {

/// As `nohup` has it: the end of the terminal is nothing to the job.
bool ignores_hangups();

/// Blocks them in this process, and opens a descriptor from which they are read (signalfd(2)): those by which users and terminals end or stop jobs, and
/// SIGCHLD. Also has broken pipes reported as errors.
os::unique_fd watch_signals();

/// For a child, before exec: as if nobody had listened.
void forget_signals();

}  // namespace atl::tools
