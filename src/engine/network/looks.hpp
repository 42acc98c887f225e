#pragma once

/// How often to poll a network whose polls cost much, such as 250 to 310 ns over TCP, beside memory that costs 7.

#include <algorithm>
#include <cstdint>
#include <utility>

namespace atl::engine {

/// While polls find nothing, half of the time goes into them: what comes is seen one such poll later at most. One that finds
/// something is followed by another at once. Where neighbours send meanwhile and the network does not, it is they who are waited for,
/// and each fruitless poll is followed by the next one after twice the time, up to sixteen times what it costs. Neighbours send as long as
/// the last message of theirs is no older than that: a round trip with one may take longer than a poll.
class looks {
 public:
  /// `cost_ns`: of a fruitless poll; 0: nothing to speak of.
  explicit looks(std::uint64_t cost_ns) noexcept : cost_ns_(cost_ns), gap_ns_(cost_ns) {}

  [[nodiscard]] bool are_free() const noexcept { return cost_ns_ == 0; }
  /// Is it worth reading the clock for is_due()? While neighbours send that is when a message of theirs has just been served, as the next
  /// one needs some time, and seldom else: the clock costs more than a look at what they send. Where they answer within fewer looks than
  /// a reading is worth, not behind each of their messages: it would be a tenth of a round trip.
  /// `neighbours_sent`: so many messages of theirs have been taken, ever.
  [[nodiscard]] bool may_be_due(std::uint64_t neighbours_sent) noexcept {
    bool const served = std::exchange(served_, neighbours_sent) != neighbours_sent;
    ++asked_;
    if (gap_ns_ != cost_ns_ && asked_ < (served ? worth : turn)) return false;
    asked_ = 0;
    return true;
  }
  /// None is, and asking costs next to nothing: while neighbours send, and all that they have sent was taken before the last look.
  [[nodiscard]] bool are_far(std::uint64_t neighbours_sent) noexcept {
    return gap_ns_ != cost_ns_ && served_ == neighbours_sent && passes();
  }
  /// A message of theirs has just been taken, which somebody may wait for: the look had better come after that.
  [[nodiscard]] bool had_better_wait(std::uint64_t neighbours_sent) noexcept {
    return gap_ns_ != cost_ns_ && served_ != neighbours_sent && passes();
  }
  [[nodiscard]] bool is_due(std::uint64_t now_ns) const noexcept { return now_ns >= next_ns_; }
  /// A poll has ended at that time.
  void looked(bool found, std::uint64_t now_ns, std::uint64_t neighbours_sent) noexcept {
    if (std::exchange(neighbours_sent_, neighbours_sent) != neighbours_sent) sent_ns_ = now_ns;
    bool const they_send = now_ns - sent_ns_ < longest * cost_ns_;
    gap_ns_ = they_send && !found ? std::min(2 * gap_ns_, longest * cost_ns_) : cost_ns_;
    next_ns_ = found ? 0 : now_ns + gap_ns_;
  }
  /// The next poll is due: somebody is about to sleep.
  void hurry() noexcept {
    next_ns_ = 0;
    gap_ns_ = cost_ns_;
  }

 private:
  static constexpr std::uint64_t longest = 16;
  static constexpr std::uint32_t worth = 64;
  static constexpr std::uint32_t turn = 128;

  /// Counts a question that is answered without a look, unless the next one is that which looks: it is left to may_be_due().
  bool passes() noexcept {
    if (asked_ + 1 >= turn) return false;
    ++asked_;
    return true;
  }

  std::uint64_t cost_ns_;
  std::uint64_t gap_ns_;
  std::uint64_t neighbours_sent_ = 0;
  std::uint64_t sent_ns_ = 0;  ///< about when they last did
  std::uint64_t next_ns_ = 0;
  std::uint64_t served_ = 0;  ///< messages of neighbours, when it was last asked whether one may be due
  std::uint32_t asked_ = 0;   ///< since it was last said that one may be due
};

}  // namespace atl::engine
