#pragma once

/// Targets that gave no room while somebody waited for it as long as anybody does. They are not waited for again
/// until they do: what is sent to them is kept at once, as long as that is little. So one slow rank costs
/// its callers their patience once, not with every message.

#include <atomic>
#include <cstdint>

namespace atl::engine {

/// Any thread. Remembers a few; of more, the others are met with patience.
class impatience {
 public:
  [[nodiscard]] bool with(std::int32_t target) const noexcept {
    for (auto const& each : targets_) {
      if (each.load(std::memory_order_relaxed) == target) return true;
    }
    return false;
  }
  void begin(std::int32_t target) noexcept {
    if (with(target)) return;
    targets_[next_.fetch_add(1, std::memory_order_relaxed) % most].store(target, std::memory_order_relaxed);
  }
  void end(std::int32_t target) noexcept {
    for (auto& each : targets_) {
      std::int32_t expected = target;
      each.compare_exchange_strong(expected, nobody, std::memory_order_relaxed);
    }
  }

 private:
  static constexpr std::uint32_t most = 16;
  static constexpr std::int32_t nobody = -1;

  // Relaxed everywhere: hints.
  std::atomic<std::int32_t> targets_[most] = {nobody, nobody, nobody, nobody, nobody, nobody, nobody, nobody,
                                              nobody, nobody, nobody, nobody, nobody, nobody, nobody, nobody};
  std::atomic<std::uint32_t> next_{0};
};

}  // namespace atl::engine
