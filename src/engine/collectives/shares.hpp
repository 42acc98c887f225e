#pragma once

/// An array that is reduced for all, among one member of each host. The elements are divided among the hosts: each
/// host's *share* is combined by its head (reduce-scatter), and given to all others (all-gather).
///
/// Both take ⌈log2 H⌉ rounds, whatever the number of hosts H, and send and receive each share but one once, so that a
/// head sends 2 (H - 1) / H times the array (Bruck and others, 1997; Träff, 2024):
///
///   reduce-scatter  In the round of distance d (the largest power of two below H, and halves down to 1) head h gives
///                   h - d what it has so far combined for the d shares up to that of h - d (in the first round, for
///                   the last H - d of these), and combines what h + d gives for those up to its own. Where H is a
///                   power of two this is recursive halving.
///   all-gather      the same backwards: the share of h and those behind it go to h - d, d = 1, 2, 4, …
///
/// One head makes each share, in an order that does not depend on time: all ranks get the same bits. The order of hosts is
/// another one for each share, so operations must be commutative.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/collectives/block_row.hpp"
#include "engine/collectives/collective.hpp"
#include "engine/collectives/hierarchy.hpp"
#include "engine/collectives/streams.hpp"

namespace atl::engine {

/// Elements that travel together: a part of a chunk, from `begin` on, and on from its front where it ends.
struct stretch {
  std::size_t begin = 0;
  std::size_t count = 0;
};

/// The elements of an array, or a chunk of one, divided among hosts.
struct shares {
  std::int32_t hosts;
  std::size_t count;

  /// Those of host `first` and the ones behind it, `many` in all; `first` may be any number from -hosts on.
  [[nodiscard]] stretch of(std::int32_t first, std::int32_t many) const;

 private:
  [[nodiscard]] std::size_t begin_of(std::int32_t host) const {
    return count * static_cast<std::size_t>(host) / static_cast<std::size_t>(hosts);
  }
};

/// A part of an array, so large that rounds are worth while, so small that several can be under way: one is combined while
/// the next one comes together inside hosts, and the one before it goes out.
class shared_chunk {
 public:
  /// Several of a collective may be open. `number`: which one; peers know the same chunk by the same number.
  /// Where source and target differ, the source must be complete.
  void open(collective& c, reduction const& chunk, std::uint32_t number);
  /// Goes on, where the first `own` elements of this host's values are there. `in_turn`: no chunk before it must be
  /// combined first.
  void go_on(collective& c, std::size_t own, bool in_turn);
  /// What this host combines is all there.
  [[nodiscard]] bool combined() const noexcept { return turn_ == rounds_.size(); }
  /// The result is there.
  [[nodiscard]] bool gathered() const noexcept { return gathered_; }
  /// All has come, and left.
  [[nodiscard]] bool complete() const noexcept { return complete_; }
  [[nodiscard]] std::size_t elements() const noexcept { return r_.count; }

 private:
  /// What goes to one head, or comes from one, if it is not empty.
  template <class Stream>
  struct half {
    stretch what;
    block_order order;  ///< of its elements
    Stream stream;
    std::size_t kept = 0;  ///< bytes of a segment, if it must lie somewhere until it is its turn

    [[nodiscard]] bool any() const noexcept { return what.count != 0; }
  };
  struct round {
    half<sending> out;
    half<receiving> in;
    std::size_t lead = 0;  ///< elements that go out before those that came in the round before
  };

  void plan_reduce_scatter(collective const& c, team_parts const& parts, shares const& all,
                           std::uint32_t tag);
  void plan_all_gather(collective const& c, team_parts const& parts, shares const& all, std::uint32_t tag);
  template <class Stream>
  void plan(half<Stream>& h, collective const& c, std::int32_t rank, stretch what, std::uint32_t tag,
            bool entered);

  /// Elements at the front of a stretch, of the first `own` of the chunk.
  [[nodiscard]] std::size_t front(stretch const& s, std::size_t own) const noexcept;
  [[nodiscard]] std::size_t bytes_of(std::size_t elements) const noexcept {
    return elements * r_.element_bytes;
  }
  /// Where its elements are in the chunk.
  [[nodiscard]] block_order order_of(stretch const& s) const;
  /// To the target.
  void copy_own(block_order const& order, std::size_t at, std::size_t bytes) const;

  bool scatter(collective& c, std::size_t own);
  bool combine_segment(collective& c, std::size_t own);
  void grant_more(collective& c, bool in_turn);
  bool gather(collective& c);

  reduction r_{};
  std::size_t segment_ = 0;
  std::vector<round>
      rounds_;               ///< of the reduce-scatter: one at least, the last brings what this host combines
  std::vector<round> back_;  ///< of the all-gather
  std::size_t turn_ = 0;     ///< round whose segment comes next
  bool unkept_ = false;      ///< nothing is kept for the one segment that is to come in this round
  bool gathered_ = false;
  bool complete_ = false;
};

}  // namespace atl::engine
