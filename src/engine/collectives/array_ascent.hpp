#pragma once

/// An array on its way up a tree, as one of its members sees it: it combines each segment of its own with those of its
/// children, in their order, and sends the result on; the next segment follows behind.
///
/// A segment is used when it is its turn. That of the child whose turn it is may always come; what comes from
/// others meanwhile must lie somewhere, and is granted as far as this process keeps little so far.

#include <cstddef>
#include <vector>

#include "engine/collectives/streams.hpp"
#include "engine/collectives/tree.hpp"

namespace atl::engine {

/// How an array that is reduced travels: in segments of whole elements. What goes `ahead` unasked is small.
stream_shape shape_of_reduction(reduction const& what, std::uint32_t tag, bool ahead);
/// How the result goes down again to those who have sent something up: they have entered, and can use what comes at once.
stream_shape shape_of_result(stream_shape up);

class array_ascent {
 public:
  /// The peer of `shape` does not matter. `in_target`: the result, or what is part of it, has a place in the target.
  void plan(collective const& c, tree const& place, stream_shape shape, reduction const& what,
            bool in_target);
  /// Goes on, where the first `own` bytes of this member's values are there; true when all is combined, and has left.
  bool go_on(collective& c, std::size_t own);
  /// Bytes at the front that are combined, and have left. What is empty is there with one.
  [[nodiscard]] std::size_t there() const noexcept;

 private:
  [[nodiscard]] std::byte* partial() const;
  [[nodiscard]] std::byte const* own() const { return r_.from() + shape_.begin_of(reduced_); }
  [[nodiscard]] std::byte const* combined() const { return from_children_.empty() ? own() : partial(); }
  bool combine_segment(collective& c, std::size_t own_there);

  // Who may send.

  [[nodiscard]] bool grants() const { return shape_.granted == 0; }  ///< the small ones go ahead unasked
  [[nodiscard]] std::size_t kept_for_one() const { return std::min(shape_.segment, shape_.bytes); }
  void next_turn();
  void grant_more(collective& c);

  reduction r_{};
  stream_shape shape_;
  bool is_root_ = true;
  bool in_turn_ = false;     ///< nothing is kept for the segment of the child whose turn it is
  std::size_t turn_ = 0;     ///< child whose segment comes next
  std::size_t reduced_ = 0;  ///< segments that are complete here
  std::size_t segments_ = 1;
  std::byte* partial_ = nullptr;  ///< where the segment under way is combined, if not in the target
  scratch scratch_;
  sending to_parent_;
  std::vector<receiving> from_children_;
};

}  // namespace atl::engine
