#include "run/signals.hpp"

#include <sys/signalfd.h>

#include <csignal>

namespace atl::tools {

bool ignores_hangups() {
  struct sigaction now {};
  return ::sigaction(SIGHUP, nullptr, &now) == 0 && now.sa_handler == SIG_IGN;
}

os::unique_fd watch_signals() {
  ::signal(SIGPIPE, SIG_IGN);
  // Shells start background jobs with these ignored; the launcher is asked to listen to them all the same.
  ::signal(SIGINT, SIG_DFL);
  ::signal(SIGQUIT, SIG_DFL);
  ::signal(SIGCHLD, SIG_DFL);
  sigset_t set;
  ::sigemptyset(&set);
  for (int const signal : {SIGINT, SIGTERM, SIGQUIT, SIGCHLD, SIGTSTP}) ::sigaddset(&set, signal);
  // A signal that is ignored and blocked would come all the same.
  if (!ignores_hangups()) ::sigaddset(&set, SIGHUP);
  sigset_t blocked = set;
  // Blocked, reading from the terminal in the background is an error instead of a stop,
  // and writing just works.
  ::sigaddset(&blocked, SIGTTIN);
  ::sigaddset(&blocked, SIGTTOU);
  ::sigprocmask(SIG_BLOCK, &blocked, nullptr);
  return os::unique_fd(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
}

void forget_signals() {
  ::signal(SIGPIPE, SIG_DFL);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
}

}  // namespace atl::tools
