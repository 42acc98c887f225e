#include "engine/collectives/array_descent.hpp"

#include <algorithm>

namespace atl::engine {

void array_descent::plan(collective const& c, tree const& place, stream_shape shape) {
  is_root_ = place.is_root();
  bytes_ = shape.bytes;
  if (!is_root_) {
    shape.peer = c.team->to_world(place.parent());
    from_parent_ = receiving(shape);
  }
  // Who has most below it comes first.
  to_children_.reserve(place.children());
  for (std::size_t i = place.children(); i-- > 0;) {
    shape.peer = c.team->to_world(place.begin()[i]);
    to_children_.emplace_back(shape);
  }
}

bool array_descent::go_on(collective& c, std::byte* data, std::size_t at_root) {
  if (is_root_) {
    there_ = at_root;
  } else {
    bool const all = from_parent_.go_on(c, data);
    there_ = bytes_ == 0 && all ? 1 : from_parent_.there();
  }
  bool complete = there_ >= std::max(bytes_, std::size_t{1});
  if (bytes_ == 0 && !complete) return false;
  for (sending& child : to_children_) complete &= child.go_on(c, data, there_);
  return complete;
}

void array_descent::close(collective& c) {
  for (sending& child : to_children_) child.close(c);
}

}  // namespace atl::engine
