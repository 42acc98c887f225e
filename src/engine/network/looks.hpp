#pragma once

/// How often to poll a network whose polls cost much, such as 250 to 310 ns over TCP, beside memory that costs 7.

#include <cstdint>

namespace atl::engine {

/// While polls find nothing, half of the time goes into them: what comes is seen one such poll later at most, and
/// neighbours' messages do not wait for it. One that finds something is followed by another at once.
class looks {
 public:
  /// `cost_ns`: of a fruitless poll; 0: nothing to speak of.
  explicit looks(std::uint64_t cost_ns) noexcept : cost_ns_(cost_ns) {}

  [[nodiscard]] bool are_free() const noexcept { return cost_ns_ == 0; }
  [[nodiscard]] bool is_due(std::uint64_t now_ns) const noexcept { return now_ns >= next_ns_; }
  /// A poll has ended at that time.
  void looked(bool found, std::uint64_t now_ns) noexcept { next_ns_ = found ? 0 : now_ns + cost_ns_; }
  /// The next poll is due: somebody is about to sleep.
  void hurry() noexcept { next_ns_ = 0; }

 private:
  std::uint64_t cost_ns_;
  std::uint64_t next_ns_ = 0;
};

}  // namespace atl::engine
