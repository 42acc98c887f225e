// What signals for debugging leave as it was.

#include "bootstrap/debugging.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>

namespace atl::bootstrap {
namespace {

TEST(debugging, signals_leave_errno_alone) {
  ::setenv("GASNET_BACKTRACE_SIGNAL", "USR1", 1);
  ::setenv("GASNET_FREEZE_SIGNAL", "USR2", 1);
  install_debugging();
  ::unsetenv("GASNET_BACKTRACE_SIGNAL");
  ::unsetenv("GASNET_FREEZE_SIGNAL");
  // Who is frozen goes on at SIGCONT.
  ::pid_t const frozen_one = ::getpid();
  ::pid_t const waker = ::fork();
  if (waker == 0) {
    for (; ::getppid() == frozen_one; ::usleep(1000)) ::kill(frozen_one, SIGCONT);
    ::_exit(0);
  }
  // Writes to standard error fail.
  int const kept = ::dup(STDERR_FILENO);
  int const full = ::open("/dev/full", O_WRONLY | O_CLOEXEC);
  ::dup2(full, STDERR_FILENO);
  errno = EDOM;
  ::raise(SIGUSR1);
  int const after_backtrace = errno;
  errno = EDOM;
  ::raise(SIGUSR2);
  int const after_freeze = errno;
  ::dup2(kept, STDERR_FILENO);
  ::close(kept);
  ::close(full);
  ::kill(waker, SIGKILL);
  ::waitpid(waker, nullptr, 0);
  for (int const signal : {SIGUSR1, SIGUSR2, SIGCONT}) ::signal(signal, SIG_DFL);
  EXPECT_EQ(after_backtrace, EDOM);
  EXPECT_EQ(after_freeze, EDOM);
}

}  // namespace
}  // namespace atl::bootstrap
