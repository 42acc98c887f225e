#pragma once

#include <pthread.h>
#include <signal.h>

#include <initializer_list>

namespace atl::os {

/// For a scope, of this thread and for good of those that it starts: signals that are sent to the process are for the program's threads. Those
/// that a thread's own mistakes raise stay.
class signals_are_for_others {
 public:
  signals_are_for_others() noexcept {
    sigset_t all;
    sigfillset(&all);
    for (int const own : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGTRAP}) sigdelset(&all, own);
    pthread_sigmask(SIG_BLOCK, &all, &before_);
  }
  ~signals_are_for_others() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  signals_are_for_others(signals_are_for_others const&) = delete;
  signals_are_for_others& operator=(signals_are_for_others const&) = delete;

 private:
  sigset_t before_{};
};

}  // namespace atl::os
