#pragma once

/// The lock around the engine's state in programs of which several threads communicate (par). A thread that
/// finds it taken while it polls leaves the work to its holder; who sends, or starts a collective, waits for
/// it.

#include "base/spin_lock.hpp"
#include "engine/world.hpp"

namespace atl::engine {

extern recursive_spin_lock engine_lock;

/// Held around everything but reserving and publishing in a ring; costs nothing in the seq thread mode.
class guard {
 public:
  guard() : held_(world->threaded) {
    if (held_) engine_lock.lock();
  }
  ~guard() {
    if (held_) engine_lock.unlock();
  }
  guard(guard const&) = delete;
  guard& operator=(guard const&) = delete;

 private:
  bool held_;
};

/// The same without waiting: false if another thread has it.
class try_guard {
 public:
  try_guard() : locks_(world->threaded), held_(!locks_ || engine_lock.try_lock()) {}
  ~try_guard() {
    if (locks_ && held_) engine_lock.unlock();
  }
  try_guard(try_guard const&) = delete;
  try_guard& operator=(try_guard const&) = delete;

  explicit operator bool() const { return held_; }

 private:
  bool locks_;
  bool held_;
};

}  // namespace atl::engine
