#pragma once

#include <pthread.h>
#include <signal.h>

namespace atl::os {

/// For a scope, keeps signals from this thread and from those that it starts, which keep that.
class without_signals {
 public:
  without_signals() noexcept {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~without_signals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  without_signals(without_signals const&) = delete;
  without_signals& operator=(without_signals const&) = delete;

 private:
  sigset_t before_;
};

}  // namespace atl::os
