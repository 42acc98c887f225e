#pragma once

/// What a sender knows of the wire to a peer, which says with each of its messages how many of the sender's have come: whether what is
/// sent now goes into the wire at once, so that nobody has to ask the peer.

#include <cstdint>

namespace atl::transport {

/// Of one connection, whose messages arrive in their order.
class unseen_messages {
 public:
  void note_sent() noexcept { ++sent_; }
  [[nodiscard]] std::uint64_t const& sent() const noexcept { return sent_; }
  /// Something long goes to the peer, by itself or in the next message, and whatever follows may have to wait until the wire has room.
  void note_bulk() noexcept { bulk_ = sent_ + 1; }
  /// The peer says that so many more have come.
  void note_more_seen(std::uint64_t more) noexcept { seen_ += more; }
  /// The peer says how many have come, modulo 65536. Older news may come later; fewer than half as many are unanswered at a time.
  void note_seen(std::uint16_t modulo) noexcept {
    auto const further = static_cast<std::int16_t>(modulo - static_cast<std::uint16_t>(seen_));
    if (further > 0) seen_ += static_cast<std::uint64_t>(further);
  }
  /// Only little of what was sent, and nothing long, may still be on the way: less than any socket holds.
  [[nodiscard]] bool wire_is_empty() const noexcept {
    constexpr std::uint64_t little = 8;
    return seen_ >= bulk_ && sent_ - seen_ <= little;
  }

 private:
  std::uint64_t sent_ = 0;
  std::uint64_t seen_ = 0;  ///< at least
  std::uint64_t bulk_ = 0;  ///< of those sent, up to the last that was long, or stands behind something long
};

}  // namespace atl::transport
