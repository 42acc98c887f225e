// Arrays come up a tree in segments. A member combines its own segment with its children's, in the order of the
// children, and sends the result on; the next segment follows behind. For all, the root's segments go down the
// same tree while further ones still come up. One member makes each result, so all get the same bits.
//
// A segment is used when it is its turn. That of the child whose turn it is may always come; what comes from
// others meanwhile must lie somewhere, and is granted as far as this process keeps little so far.

#include <algorithm>
#include <cstring>
#include <vector>

#include <atoll/engine/am.hpp>

#include "engine/collectives/by_messages.hpp"
#include "engine/collectives/streams.hpp"
#include "engine/collectives/tree.hpp"
#include "engine/collectives/under_way.hpp"

namespace atl::engine {

namespace {

class tree_reduce final : public collective {
 public:
  explicit tree_reduce(reduction const& r) : r_(r), all_(r.root < 0) {}

  void begin() override {
    tree const place(*team, all_ ? 0 : r_.root);
    is_root_ = place.is_root();
    plan_streams(place);
    // Without children nothing is combined: the source is sent as it is.
    if (place.children() != 0 && !is_root_ && !all_) {
      partial_ = scratch_.get(std::min(shape_.segment, r_.bytes()) / r_.element_bytes, r_.element_bytes);
    }
    (void)go_on();
  }
  bool advance() override { return go_on(); }

 private:
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
      shape_.peer = down.peer = team->to_world(place.parent());
      to_parent_ = sending(shape_);
      from_parent_ = receiving(down);
    }
    from_children_.reserve(place.children());
    for (std::size_t i = 0; i < place.children(); ++i) {
      shape_.peer = team->to_world(place.begin()[i]);
      from_children_.emplace_back(shape_);
    }
    if (!all_) return;
    to_children_.reserve(place.children());
    for (std::size_t i = place.children(); i-- > 0;) {
      down.peer = team->to_world(place.begin()[i]);
      to_children_.emplace_back(down);
    }
  }

  bool go_on() {
    bool const sent = go_up();
    return all_ ? go_down() && sent : sent;
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
    bool complete = is_root_ ? reduced_ == shape_.segments() : from_parent_.go_on(*this, r_.to());
    std::size_t const there =
        is_root_ ? std::min(reduced_ * shape_.segment, shape_.bytes) : from_parent_.there();
    if (shape_.bytes == 0 && !complete) return false;
    for (sending& child : to_children_) complete &= child.go_on(*this, r_.to(), there);
    return complete;
  }

  reduction r_;
  stream_shape shape_;
  bool all_;
  bool is_root_ = false;
  bool in_turn_ = false;     ///< nothing is kept for the segment of the child whose turn it is
  std::size_t turn_ = 0;     ///< child whose segment comes next
  std::size_t reduced_ = 0;  ///< segments that are complete here
  std::byte* partial_ = nullptr;
  scratch scratch_;
  sending to_parent_;
  receiving from_parent_;
  std::vector<receiving> from_children_;
  std::vector<sending> to_children_;
};

}  // namespace

collective* make_tree_reduce(team_view& team, collective_signature signature, on_done done,
                             reduction const& what) {
  return make<tree_reduce>(team, signature, done, what);
}

}  // namespace atl::engine
