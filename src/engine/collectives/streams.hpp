#pragma once

/// Arrays on their way from one member to another, in segments. The receiver grants segments, so no more than
/// a window of them is ever under way, and little piles up at a member that has not come yet. What fits into a
/// ring goes ahead unasked. So may the first segments of more, as long as this process has few bytes under way
/// whose receivers have not shown that they have entered the collective.
///
/// Every grant is needed for the last segment to leave, so that who has sent all has heard all of them; but for
/// an array that went ahead as a whole. Its grant comes later, and only gives back what the array was charged.

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "engine/collectives/block_row.hpp"
#include "engine/collectives/collective.hpp"
#include "engine/collectives/steps.hpp"

namespace atl::engine {

/// Large enough that a message costs little of a copy, small enough that all ranks of a long way work at once.
constexpr std::size_t segment_bytes = std::size_t{64} << 10;
/// Segments under way between two members.
constexpr std::uint32_t window = 8;
/// Segments of a longer array that may go ahead.
constexpr std::uint32_t segments_ahead = 4;
/// In every so many collectives of a team even small arrays count as sent ahead, where nothing else keeps their
/// sender from running ahead.
constexpr std::uint32_t longest_lead = 16;

/// An array between two members, as both know it.
struct stream_shape {
  std::uint32_t tag = 0;
  std::int32_t peer = -1;  ///< the other one: rank in the job
  std::size_t bytes = 0;
  std::size_t segment = segment_bytes;
  std::uint32_t granted = 0;  ///< segments that need no grant
  std::uint32_t ahead = 0;    ///< segments that may leave before their grant is heard

  /// An empty array is one empty segment.
  [[nodiscard]] std::size_t segments() const noexcept {
    return bytes == 0 ? 1 : (bytes + segment - 1) / segment;
  }
  [[nodiscard]] std::size_t begin_of(std::size_t index) const noexcept { return index * segment; }
  [[nodiscard]] std::size_t bytes_of(std::size_t index) const noexcept {
    return std::min(segment, bytes - begin_of(index));
  }
  /// Bytes that a segment counts for which goes ahead: a small one as many as those that went unasked before it.
  [[nodiscard]] std::size_t charge_of(std::size_t index) const noexcept {
    return bytes <= eager_bytes ? segment_bytes : bytes_of(index);
  }
  /// The same of all; 0 if not all may go ahead.
  [[nodiscard]] std::size_t charge_of_all() const noexcept {
    if (segments() > ahead) return 0;
    return bytes <= eager_bytes ? segment_bytes : bytes;
  }
};

/// Of an array to or from that member of the team, which goes unasked if it is small and may go ahead.
inline stream_shape shape_of_array(collective const& c, std::uint32_t tag, std::int32_t peer,
                                   std::size_t bytes, bool ahead = true) {
  stream_shape shape{tag, c.team->to_world(peer), bytes};
  shape.granted = bytes <= eager_bytes && ahead ? 1 : 0;
  return shape;
}

/// Does a small array count as sent ahead, or wait for its receiver where nothing may go ahead?
inline bool waits_for_receiver(collective const& c) noexcept {
  return c.call.number % longest_lead == longest_lead - 1;
}

class sending {
 public:
  sending() = default;
  explicit sending(stream_shape const& shape)
      : shape_(shape), segments_(shape.segments()), granted_(shape.granted) {}

  /// Sends the next segment, which begins at `data`. False: not granted yet, or no memory now.
  [[nodiscard]] bool send_next(collective& c, std::byte const* data) { return send_next(c, data, nullptr); }
  /// Sends what may go of the first `there` bytes of `array`; true when all is sent.
  bool go_on(collective& c, row_view const& array, std::size_t there);
  [[nodiscard]] bool complete() const noexcept { return sent_ == segments_; }

  /// All is sent, and the collective ends here. Its receiver may not have been heard of yet.
  void close(collective& c);

 private:
  bool send_next(collective& c, std::byte const* data, row_view const* row);
  void hear_grants(collective& c);

  stream_shape shape_;
  std::size_t segments_ = 1;  // counting them takes a division, and they are looked at in every poll
  std::size_t granted_ = 0;
  std::size_t sent_ = 0;
  std::size_t charged_ = 0;  ///< bytes that went ahead
};

class receiving {
 public:
  receiving() = default;
  explicit receiving(stream_shape const& shape)
      : shape_(shape), segments_(shape.segments()), granted_(shape.granted) {}

  /// Receives into `array`, in any order, and lets the sender go on. True when all is there.
  bool go_on(collective& c, row_view const& array);
  /// Bytes at the front of the array that are there.
  [[nodiscard]] std::size_t there() const noexcept { return std::min(taken_ * shape_.segment, shape_.bytes); }
  [[nodiscard]] bool complete() const noexcept { return taken_ == segments_; }

  // One by one, where segments are not put where they belong, but used.

  /// The next segment, or null. The caller releases it.
  transport::message* take_next(collective& c);
  /// Segments granted that were not taken yet.
  [[nodiscard]] std::size_t outstanding() const noexcept { return granted_ - taken_; }
  [[nodiscard]] std::size_t not_granted() const noexcept { return segments_ - granted_; }
  /// How many more to grant now: one message for two segments, unless this rank waits for one.
  [[nodiscard]] std::size_t to_grant(bool waits) const noexcept {
    std::size_t const more =
        std::min<std::size_t>(not_granted(), window - std::min<std::size_t>(outstanding(), window));
    return waits || more >= window / 2 || more == not_granted() ? more : 0;
  }
  /// Grants so many more.
  [[nodiscard]] bool grant(collective& c, std::size_t more);
  [[nodiscard]] stream_shape const& shape() const noexcept { return shape_; }

 private:
  /// False as mismatch() returns.
  [[nodiscard]] bool fits(collective const& c, transport::message const& m) const;

  stream_shape shape_;
  std::size_t segments_ = 1;  // counting them takes a division, and they are looked at in every poll
  std::size_t granted_ = 0;
  std::size_t taken_ = 0;    ///< all segments before this one
  std::uint32_t ahead_ = 0;  ///< bit i: segment taken_ + i is there too
};

}  // namespace atl::engine
