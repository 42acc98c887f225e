#pragma once

#include <atomic>
#include <cstdint>

#include <sched.h>

#include "base/pause.hpp"

namespace atl {

/// Short critical sections that any thread may enter, once.
class spin_lock {
 public:
  void lock() noexcept {
    // Acquire pairs with the release of the previous holder.
    if (locked_.exchange(true, std::memory_order_acquire)) [[unlikely]]
      wait();
  }
  void unlock() noexcept { locked_.store(false, std::memory_order_release); }

 private:
  void wait() noexcept {
    std::uint32_t tries = 0;
    do {
      while (locked_.load(std::memory_order_relaxed)) {
        if (++tries % 128 == 0) {
          sched_yield();  // the holder may wait for this core
        } else {
          cpu_pause();
        }
      }
    } while (locked_.exchange(true, std::memory_order_acquire));
  }
  std::atomic<bool> locked_{false};
};

/// Short critical sections, re-entrant for the owning thread. Who takes it again and again by try_lock_in_turn() shares it with those
/// who wait in lock(), also where it is let go for a moment only.
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
  /// Does a thread wait in lock()?
  bool wanted() const noexcept { return waiting_.load(std::memory_order_relaxed) != 0; }
  /// try_lock() that fails, too, if it has succeeded since somebody waits.
  bool try_lock_in_turn() noexcept {
    // Relaxed, both: hints about whose turn it is; what the lock guards is ordered by its owner.
    if (!wanted() || owner_.load(std::memory_order_relaxed) == self()) [[likely]]
      return try_lock();
    if (passed_by_.load(std::memory_order_relaxed) || !try_lock()) return false;
    passed_by_.store(true, std::memory_order_relaxed);
    return true;
  }
  void lock() noexcept {
    if (!try_lock()) [[unlikely]]
      wait();
  }
  void unlock() noexcept {
    if (--depth_ == 0) owner_.store(nullptr, std::memory_order_release);
  }

 private:
  void wait() noexcept {
    waiting_.fetch_add(1, std::memory_order_relaxed);
    for (std::uint32_t tries = 0; !try_lock(); ++tries) {
      if (tries % 64 == 63) {
        sched_yield();
      } else {
        cpu_pause();
      }
    }
    passed_by_.store(false, std::memory_order_relaxed);
    waiting_.fetch_sub(1, std::memory_order_relaxed);
  }
  static void* self() noexcept {
    static thread_local char marker;
    return &marker;
  }
  std::atomic<void*> owner_{nullptr};
  std::uint32_t depth_ = 0;
  std::atomic<std::uint32_t> waiting_{0};  ///< threads in wait()
  std::atomic<bool> passed_by_{false};     ///< by try_lock_in_turn(), since one of them had it
};

}  // namespace atl
