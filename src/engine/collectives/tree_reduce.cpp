// Arrays come up a tree in segments. For all, the root's segments go down the same tree while further ones still
// come up. One member makes each result, so all get the same bits.
//
// Where the members on a host have channels, the tree is one of hosts: what the members of this one bring along
// comes together by a flat reduction, at the one that stands for them, and the result goes out by a flat broadcast.

#include <algorithm>

#include "engine/collectives/array_ascent.hpp"
#include "engine/collectives/array_descent.hpp"
#include "engine/collectives/by_messages.hpp"
#include "engine/collectives/flat_broadcast.hpp"
#include "engine/collectives/flat_reduce.hpp"
#include "engine/collectives/hierarchy.hpp"
#include "engine/collectives/under_way.hpp"

namespace atl::engine {

namespace {

/// Larger ones to one rank would take as much scratch memory of those that stand for other hosts.
constexpr std::size_t most_inside_to_one = std::size_t{256} << 10;

class tree_reduce final : public collective {
 public:
  explicit tree_reduce(reduction const& r) : r_(r), all_(r.root < 0) {}

  void begin() override {
    std::int32_t const root = all_ ? 0 : r_.root;
    between_hosts const way = all_ ? between_hosts::binomial : way_of_array(*team, r_.bytes());
    if (team->inside.up != nullptr && (all_ || r_.bytes() <= most_inside_to_one)) {
      begin_inside(team->hosts->head_place(*team, root));
      if (stands_for_host_) begin_tree(tree::of_heads(*team, root, way));
    } else {
      begin_tree(tree(*team, root, way));
    }
    (void)go_on();
  }
  bool advance() override { return go_on(); }

 private:
  void begin_tree(tree const& place) {
    // For all, nobody can be ahead: the result needs everyone.
    stream_shape const up = shape_of_reduction(r_, up_tag, all_ || !waits_for_receiver(*this));
    up_.plan(*this, place, up, r_, all_ || place.is_root());
    if (all_) down_.plan(*this, place, shape_of_result(up));
  }

  void begin_inside(std::int32_t head) {
    stands_for_host_ = head == team->hosts->my_place;
    reduction inside = r_;
    inside.root = head;
    if (!all_ && r_.root != team->rank_me) {
      // At the root and for all the result has a place.
      inside.target = stands_for_host_ ? of_host_.get(r_.count, r_.element_bytes) : nullptr;
    }
    up_done_ = false;
    auto& open = collectives_under_way::here();
    open.launch_inside(*this,
                       make_flat_reduce(*team->inside.up, call.signature, sets(up_done_), inside, &own_));
    r_.source = inside.target;
    if (!all_) return;
    down_done_ = false;
    open.launch_inside(*this, make_flat_broadcast(*team->inside.down, call.signature, sets(down_done_),
                                                  r_.target, r_.bytes(), head, &there_));
  }

  bool go_on() {
    if (!stands_for_host_) return up_done_ && down_done_;
    bool const sent = up_.go_on(*this, up_done_ ? r_.bytes() : own_ * r_.element_bytes);
    return all_ ? go_down() && sent && up_done_ : sent && up_done_;
  }
  bool go_down() {
    bool const complete = down_.go_on(*this, r_.to(), up_.there());
    if (!down_done_) {
      there_ = down_.there();
      collectives_under_way::here().go_on_inside(*team->inside.down);
    }
    return complete && down_done_;
  }

  reduction r_;
  bool all_;
  bool stands_for_host_ = true;
  bool up_done_ = true;
  bool down_done_ = true;
  std::size_t own_ = 0;    ///< elements of this host that are there
  std::size_t there_ = 0;  ///< bytes of the result, for the others on this host
  scratch of_host_;
  array_ascent up_;
  array_descent down_;
};

}  // namespace

collective* make_tree_reduce(team_view& team, collective_signature signature, on_done done,
                             reduction const& what) {
  return make<tree_reduce>(team, signature, done, what);
}

}  // namespace atl::engine
