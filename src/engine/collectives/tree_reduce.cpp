// Arrays come up a tree in segments. A member combines its own segment with its children's, in the order of the
// children, and sends the result on; the next segment follows behind. For all, the root's segments go down the
// same tree while further ones still come up. One member makes each result, so all get the same bits.
//
// Where the members on a host have channels, the tree is one of hosts: what the members of this one bring along
// comes together by a flat reduction, at the one that stands for them, and the result goes out by a flat broadcast.
//
// A segment is used when it is its turn. That of the child whose turn it is may always come; what comes from
// others meanwhile must lie somewhere, and is granted as far as this process keeps little so far.

#include <algorithm>
#include <cstring>
#include <vector>

#include <atoll/engine/am.hpp>

#include "engine/collectives/array_descent.hpp"
#include "engine/collectives/by_messages.hpp"
#include "engine/collectives/flat_broadcast.hpp"
#include "engine/collectives/flat_reduce.hpp"
#include "engine/collectives/hierarchy.hpp"
#include "engine/collectives/streams.hpp"
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
    if (team->inside.up != nullptr && (all_ || r_.bytes() <= most_inside_to_one)) {
      begin_inside(team->hosts->head_place(*team, root));
      if (stands_for_host_) begin_tree(tree::between_hosts(*team, root));
    } else {
      begin_tree(tree(*team, root));
    }
    (void)go_on();
  }
  bool advance() override { return go_on(); }

 private:
  void begin_tree(tree const& place) {
    is_root_ = place.is_root();
    plan_streams(place);
    // Without children nothing is combined: the source is sent as it is.
    if (place.children() != 0 && !is_root_ && !all_) {
      partial_ = scratch_.get(std::min(shape_.segment, r_.bytes()) / r_.element_bytes, r_.element_bytes);
    }
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

  void plan_streams(tree const& place) {
    std::size_t const elements = std::max(segment_bytes / r_.element_bytes, std::size_t{1});
    shape_ = {up_tag, -1, r_.bytes(), elements * r_.element_bytes};
    // For all, nobody can be ahead: the result needs everyone.
    bool const eager = r_.bytes() <= eager_bytes && (all_ || !waits_for_receiver(*this));
    shape_.granted = eager ? 1 : 0;
    stream_shape down = shape_;
    down.tag = down_tag;
    // Who has sent something up has entered, and can use what comes down at once.
    down.granted = static_cast<std::uint32_t>(std::min<std::size_t>(window, shape_.segments()));
    if (!is_root_) {
      shape_.peer = team->to_world(place.parent());
      to_parent_ = sending(shape_);
    }
    from_children_.reserve(place.children());
    for (std::size_t i = 0; i < place.children(); ++i) {
      shape_.peer = team->to_world(place.begin()[i]);
      from_children_.emplace_back(shape_);
    }
    if (all_) down_.plan(*this, place, down);
  }

  bool go_on() {
    if (!stands_for_host_) return up_done_ && down_done_;
    bool const sent = go_up();
    return all_ ? go_down() && sent && up_done_ : sent && up_done_;
  }

  // ---- up

  bool go_up() {
    for (; reduced_ < shape_.segments(); ++reduced_, turn_ = 0) {
      if (!combine_segment()) return false;
      if (!is_root_ && !to_parent_.send_next(*this, combined())) return false;
    }
    return true;
  }

  /// Where the segment under way is combined.
  std::byte* partial() const { return partial_ != nullptr ? partial_ : r_.to() + shape_.begin_of(reduced_); }
  std::byte const* own() const { return r_.from() + shape_.begin_of(reduced_); }
  std::byte const* combined() const { return from_children_.empty() ? own() : partial(); }

  bool combine_segment() {
    std::size_t const bytes = shape_.bytes_of(reduced_);
    if (!up_done_ && shape_.begin_of(reduced_) + bytes > own_ * r_.element_bytes) return false;
    if (from_children_.empty()) {
      if (is_root_ && bytes != 0 && partial() != own()) std::memcpy(partial(), own(), bytes);
      return true;
    }
    if (turn_ < from_children_.size()) grant_more();
    while (turn_ < from_children_.size()) {
      message* const m = from_children_[turn_].take_next(*this);
      if (m == nullptr) {
        grant_more();
        return false;
      }
      if (turn_ == 0 && bytes != 0 && partial() != own()) std::memcpy(partial(), own(), bytes);
      r_.combine(partial(), data_of(*m).data, bytes / r_.element_bytes, r_.operation);
      release(m);
      next_turn();
    }
    return true;
  }

  // ---- who may send

  /// The small ones go ahead unasked.
  bool grants() const { return shape_.granted == 0; }
  std::size_t kept_for_one() const { return std::min(shape_.segment, shape_.bytes); }

  void next_turn() {
    if (grants() && !in_turn_) collectives_under_way::here().keep_less(kept_for_one());
    in_turn_ = false;
    ++turn_;
  }

  void grant_more() {
    if (!grants()) return;
    auto& all = collectives_under_way::here();
    if (!in_turn_ && from_children_[turn_].outstanding() != 0) {
      all.keep_less(kept_for_one());
      in_turn_ = true;
    }
    for (std::size_t i = 0; i < from_children_.size(); ++i) {
      receiving& child = from_children_[i];
      std::size_t const unkept = i == turn_ && !in_turn_ ? 1 : 0;
      std::size_t const wanted = std::min(window - child.outstanding(), child.not_granted());
      // One message for two segments where nobody waits.
      if (wanted < window / 2 && wanted < child.not_granted() && unkept == 0) continue;
      std::size_t more = unkept;
      while (more < wanted && all.keep(kept_for_one())) ++more;
      if (more == 0) continue;
      if (!child.grant(*this, more)) return all.keep_less((more - unkept) * kept_for_one());
      if (unkept != 0) in_turn_ = true;
    }
  }

  // ---- down

  bool go_down() {
    bool const nothing = shape_.bytes == 0 && reduced_ == 1;
    std::size_t const reduced = std::min(reduced_ * shape_.segment, shape_.bytes);
    bool const complete = down_.go_on(*this, r_.to(), nothing ? 1 : reduced);
    if (!down_done_) {
      there_ = down_.there();
      collectives_under_way::here().go_on_inside(*team->inside.down);
    }
    return complete && down_done_;
  }

  reduction r_;
  stream_shape shape_;
  bool all_;
  bool is_root_ = false;
  bool stands_for_host_ = true;
  bool up_done_ = true;
  bool down_done_ = true;
  std::size_t own_ = 0;    ///< elements of this host that are there
  std::size_t there_ = 0;  ///< bytes of the result, for the others on this host
  scratch of_host_;
  bool in_turn_ = false;     ///< nothing is kept for the segment of the child whose turn it is
  std::size_t turn_ = 0;     ///< child whose segment comes next
  std::size_t reduced_ = 0;  ///< segments that are complete here
  std::byte* partial_ = nullptr;
  scratch scratch_;
  sending to_parent_;
  std::vector<receiving> from_children_;
  array_descent down_;
};

}  // namespace

collective* make_tree_reduce(team_view& team, collective_signature signature, on_done done,
                             reduction const& what) {
  return make<tree_reduce>(team, signature, done, what);
}

}  // namespace atl::engine
