#pragma once

/// The time by which the engine decides what it sends, and when: how long somebody has been waited for, whether to try again. It is the
/// steady clock, but where ranks run one at a time, so that runs repeat: there it is a count of looks at the network.

#include <atomic>
#include <cstdint>

#include "base/clock.hpp"

namespace atl::engine {

class decision_clock {
 public:
  /// Any thread.
  static std::uint64_t now_ns() noexcept {
    if (!by_looks_.load(std::memory_order_relaxed)) [[likely]]
      return atl::now_ns();
    return looks_.load(std::memory_order_relaxed) * ns_a_look;
  }
  /// The rank looks at the network, or thinks of it: waiting moves the count on.
  static void look() noexcept {
    if (by_looks_.load(std::memory_order_relaxed)) [[unlikely]]
      looks_.fetch_add(1, std::memory_order_relaxed);
  }
  /// From here on looks are time; or no more. Before the network is used.
  static void count_looks(bool wanted) noexcept {
    looks_.store(1, std::memory_order_relaxed);  // 0 is no time
    by_looks_.store(wanted, std::memory_order_relaxed);
  }

 private:
  /// About what one takes with its wait for a turn.
  static constexpr std::uint64_t ns_a_look = 20'000;

  // Relaxed everywhere: threads see a time, by which nothing else goes.
  static inline constinit std::atomic<std::uint64_t> looks_{1};
  static inline constinit std::atomic<bool> by_looks_{false};
};

}  // namespace atl::engine
