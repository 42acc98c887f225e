#pragma once

#include <atomic>
#include <cstdint>

#include <sched.h>

#include "base/pause.hpp"

namespace atl {

/// Short critical sections, re-entrant for the owning thread.
class recursive_spin_lock {
 public:
  bool try_lock() noexcept {
    void* const me = self();
    if (owner_.load(std::memory_order_relaxed) == me) {
      ++depth_;
      return true;
    }
    void* nobody = nullptr;
    if (!owner_.compare_exchange_strong(nobody, me, std::memory_order_acquire, std::memory_order_relaxed))
      return false;
    depth_ = 1;
    return true;
  }
  void lock() noexcept {
    for (std::uint32_t tries = 0; !try_lock(); ++tries) {
      if (tries % 64 == 63) {
        sched_yield();
      } else {
        cpu_pause();
      }
    }
  }
  void unlock() noexcept {
    if (--depth_ == 0) owner_.store(nullptr, std::memory_order_release);
  }

 private:
  static void* self() noexcept {
    static thread_local char marker;
    return &marker;
  }
  std::atomic<void*> owner_{nullptr};
  std::uint32_t depth_ = 0;
};

}  // namespace atl
