#pragma once

/// When acknowledgements had better wait for what this rank sends to the same peer next.

#include <algorithm>
#include <cstdint>

namespace atl::engine {

/// An acknowledgement that leaves at once is a message in front of what this rank itself has to say: where two ranks put to each other
/// in turn, both wait for that. One that waits leaves in this rank's next call, and that comes late if it computes first. So they
/// wait where those before were followed at once by a message to the same peer. After one that has waited for long they do not
/// wait until many more have been followed so.
class acknowledgement_habit {
 public:
  [[nodiscard]] bool may_wait() const noexcept { return score_ >= enough; }

  /// One has been written at that time; it has left, or waits. Of several in one call of progress this is the first.
  void acknowledged(std::uint64_t now_ns, bool waits) noexcept {
    at_ns_ = now_ns;
    waits_ = waits;
  }
  /// Then this rank began a message to that peer.
  void followed(std::uint64_t now_ns) noexcept {
    if (was_soon(now_ns)) {
      score_ = std::min(score_ + 1, enough);
    } else {
      miss();
    }
  }
  /// Or it made progress instead. `now_ns` matters where one has waited only.
  void passed(std::uint64_t now_ns) noexcept {
    if (waits_ && !was_soon(now_ns)) {
      miss();
    } else {
      score_ = std::min(score_, 0);
    }
  }
  [[nodiscard]] bool waits() const noexcept { return waits_; }

 private:
  /// What a message costs, about: whoever is slower gains nothing by waiting.
  static constexpr std::uint64_t soon_ns = 5'000;
  static constexpr int enough = 2;
  static constexpr int debt = -64;

  [[nodiscard]] bool was_soon(std::uint64_t now_ns) const noexcept { return now_ns - at_ns_ <= soon_ns; }
  void miss() noexcept { score_ = waits_ ? debt : std::min(score_, 0); }

  std::uint64_t at_ns_ = 0;
  int score_ = 0;  ///< times in a row, after what has to be made good
  bool waits_ = false;
};

}  // namespace atl::engine
