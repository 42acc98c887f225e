#include "engine/collectives/array_ascent.hpp"

#include <algorithm>
#include <cstring>

#include <atoll/engine/am.hpp>

#include "engine/collectives/under_way.hpp"

namespace atl::engine {

stream_shape shape_of_reduction(reduction const& what, std::uint32_t tag, bool ahead) {
  std::size_t const elements = std::max(segment_bytes / what.element_bytes, std::size_t{1});
  stream_shape shape{tag, -1, what.bytes(), elements * what.element_bytes};
  shape.granted = what.bytes() <= eager_bytes && ahead ? 1 : 0;
  return shape;
}

stream_shape shape_of_result(stream_shape up) {
  up.tag = down_tag;
  up.granted = static_cast<std::uint32_t>(std::min<std::size_t>(window, up.segments()));
  return up;
}

void array_ascent::plan(collective const& c, tree const& place, stream_shape shape, reduction const& what,
                        bool in_target) {
  r_ = what;
  shape_ = shape;
  segments_ = shape.segments();
  is_root_ = place.is_root();
  if (!is_root_) {
    shape.peer = c.team->to_world(place.parent());
    to_parent_ = sending(shape);
  }
  from_children_.reserve(place.children());
  for (std::size_t i = 0; i < place.children(); ++i) {
    shape.peer = c.team->to_world(place.begin()[i]);
    from_children_.emplace_back(shape);
  }
  // Without children nothing is combined: the source is sent as it is.
  if (place.children() != 0 && !in_target)
    partial_ = scratch_.get(kept_for_one() / r_.element_bytes, r_.element_bytes);
}

std::size_t array_ascent::there() const noexcept {
  if (shape_.bytes == 0) return reduced_;
  return std::min(reduced_ * shape_.segment, shape_.bytes);
}

bool array_ascent::go_on(collective& c, std::size_t own_there) {
  for (; reduced_ < segments_; ++reduced_, turn_ = 0) {
    if (!combine_segment(c, own_there)) return false;
    if (!is_root_ && !to_parent_.send_next(c, combined())) return false;
  }
  return true;
}

std::byte* array_ascent::partial() const {
  return partial_ != nullptr ? partial_ : r_.to() + shape_.begin_of(reduced_);
}

bool array_ascent::combine_segment(collective& c, std::size_t own_there) {
  std::size_t const bytes = shape_.bytes_of(reduced_);
  if (shape_.begin_of(reduced_) + bytes > own_there) return false;
  if (from_children_.empty()) {
    if (is_root_ && bytes != 0 && partial() != own()) std::memcpy(partial(), own(), bytes);
    return true;
  }
  if (turn_ < from_children_.size()) grant_more(c);
  while (turn_ < from_children_.size()) {
    message* const m = from_children_[turn_].take_next(c);
    if (m == nullptr) {
      grant_more(c);
      return false;
    }
    if (turn_ == 0 && bytes != 0 && partial() != own()) std::memcpy(partial(), own(), bytes);
    r_.combine(partial(), data_of(*m).data, bytes / r_.element_bytes, r_.operation);
    release(m);
    next_turn();
  }
  return true;
}

void array_ascent::next_turn() {
  if (grants() && !in_turn_) collectives_under_way::here().keep_less(kept_for_one());
  in_turn_ = false;
  ++turn_;
}

void array_ascent::grant_more(collective& c) {
  if (!grants()) return;
  auto& all = collectives_under_way::here();
  if (!in_turn_ && from_children_[turn_].outstanding() != 0) {
    all.keep_less(kept_for_one());
    in_turn_ = true;
  }
  for (std::size_t i = 0; i < from_children_.size(); ++i) {
    receiving& child = from_children_[i];
    std::size_t const unkept = i == turn_ && !in_turn_ ? 1 : 0;
    std::size_t const wanted = child.to_grant(unkept != 0);
    std::size_t more = unkept;
    while (more < wanted && all.keep(kept_for_one())) ++more;
    if (more == 0) continue;
    if (!child.grant(c, more)) return all.keep_less((more - unkept) * kept_for_one());
    if (unkept != 0) in_turn_ = true;
  }
}

}  // namespace atl::engine
