#pragma once

/// The lock around the engine's state in programs of which several threads communicate (par). A thread that
/// finds it taken while it polls leaves the work to its holder; who sends,
/// or starts a collective, waits for it.

#include "engine/progress/progress_engine.hpp"

namespace atl::engine {

/// Held around everything but reserving and publishing in a ring; costs nothing in the seq thread mode.
class guard {
 public:
  guard() : engine_(progress_engine::here()) {
    if (engine_.threaded) engine_.lock.lock();
  }
  ~guard() {
    if (engine_.threaded) engine_.lock.unlock();
  }
  guard(guard const&) = delete;
  guard& operator=(guard const&) = delete;

 private:
  progress_engine& engine_;
};

/// The same without waiting: false if another thread has it, or waits for it and has its turn: who polls all the time, and is long
/// in each poll (lockstep of the simulated network, a slow network), would let senders starve.
class try_guard {
 public:
  try_guard()
      : engine_(progress_engine::here()), held_(!engine_.threaded || engine_.lock.try_lock_in_turn()) {}
  ~try_guard() {
    if (engine_.threaded && held_) engine_.lock.unlock();
  }
  try_guard(try_guard const&) = delete;
  try_guard& operator=(try_guard const&) = delete;

  explicit operator bool() const { return held_; }

 private:
  progress_engine& engine_;
  bool held_;
};

}  // namespace atl::engine
