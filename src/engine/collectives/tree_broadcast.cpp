// Arrays go down a tree in segments. Among hosts the root of a binomial tree sends the array several times; what has many
// segments goes from host to host instead (way_of_array).
//
// Where the members on a host have channels, the tree is one of hosts, and whoever stands for this host passes on
// to the others by a flat broadcast what has come.

#include <algorithm>

#include "engine/collectives/array_descent.hpp"
#include "engine/collectives/by_messages.hpp"
#include "engine/collectives/flat_broadcast.hpp"
#include "engine/collectives/hierarchy.hpp"
#include "engine/collectives/under_way.hpp"

namespace atl::engine {

namespace {

class tree_broadcast final : public collective {
 public:
  tree_broadcast(void* buffer, std::size_t bytes, std::int32_t root)
      : buffer_(static_cast<std::byte*>(buffer)), bytes_(bytes), root_(root) {}

  void begin() override {
    between_hosts const way = way_of_array(*team, bytes_);
    if (team->inside.down == nullptr) {
      plan_streams(tree(*team, root_, way));
    } else {
      inside_done_ = false;
      std::int32_t const head = team->hosts->head_place(*team, root_);
      stands_for_host_ = head == team->hosts->my_place;
      if (stands_for_host_) plan_streams(tree::of_heads(*team, root_, way));
      // Also who gives must be in the queue at its turn, before there is anything to give.
      collectives_under_way::here().launch_inside(
          *this, make_flat_broadcast(*team->inside.down, call.signature, sets(inside_done_), buffer_, bytes_,
                                     head, &there_));
    }
    (void)go_on();
  }
  bool advance() override {
    if (!go_on()) return false;
    down_.close(*this);
    return true;
  }

 private:
  void plan_streams(tree const& place) {
    stream_shape shape{down_tag, -1, bytes_};
    shape.granted = bytes_ <= eager_bytes && !waits_for_receiver(*this) ? 1 : 0;
    shape.ahead = segments_ahead;
    down_.plan(*this, place, shape);
  }

  bool go_on() {
    if (!stands_for_host_) return inside_done_;
    bool const complete = down_.go_on(*this, buffer_, std::max(bytes_, std::size_t{1}));
    if (!inside_done_) {
      there_ = down_.there();
      collectives_under_way::here().go_on_inside(*team->inside.down);
    }
    return complete && inside_done_;
  }

  std::byte* buffer_;
  std::size_t bytes_;
  std::int32_t root_;
  bool stands_for_host_ = true;
  bool inside_done_ = true;
  std::size_t there_ = 0;  ///< for the others on this host
  array_descent down_;
};

}  // namespace

collective* make_tree_broadcast(team_view& team, collective_signature signature, on_done done, void* buffer,
                                std::size_t bytes, std::int32_t root) {
  return make<tree_broadcast>(team, signature, done, buffer, bytes, root);
}

}  // namespace atl::engine
