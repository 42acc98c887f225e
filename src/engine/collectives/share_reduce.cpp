// An array comes together inside each host, at its leader: by a flat reduction where the members have channels, and else
// up a tree. The leaders exchange shares of it, chunk by chunk (shares.hpp). What is complete goes out as it came.

#include "engine/collectives/share_reduce.hpp"

#include <algorithm>
#include <cstdint>
#include <deque>

#include "engine/collectives/array_ascent.hpp"
#include "engine/collectives/array_descent.hpp"
#include "engine/collectives/flat_broadcast.hpp"
#include "engine/collectives/flat_reduce.hpp"
#include "engine/collectives/hierarchy.hpp"
#include "engine/collectives/shares.hpp"
#include "engine/collectives/under_way.hpp"

namespace atl::engine {

namespace {

/// Below, a tree takes as many steps, and half of the messages.
constexpr std::size_t least_bytes = std::size_t{16} << 10;
/// Between two hosts a tree sends as many bytes, and copies less: shares only save steps, which few arrays above that notice.
constexpr std::size_t most_bytes_of_two = std::size_t{1} << 20;
/// So much is worth the steps of all rounds.
constexpr std::size_t chunk_bytes = std::size_t{2} << 20;
/// Where hosts have several members, what happens inside and between hosts overlaps by chunks.
constexpr std::size_t chunk_bytes_inside = std::size_t{512} << 10;
/// One that comes together, one that is combined, and one that goes out.
constexpr std::size_t chunks_open = 3;

class share_reduce final : public collective {
 public:
  explicit share_reduce(reduction const& r) : r_(r) {}

  void begin() override {
    leads_ = team->hosts->my_place == 0;
    if (team->inside.up != nullptr) {
      begin_inside();
    } else {
      // Who is alone on his host is all of the tree.
      plan_inside(tree(*team->hosts));
    }
    (void)go_on();
  }
  bool advance() override { return go_on(); }

 private:
  void begin_inside() {
    flat_ = true;
    up_done_ = down_done_ = false;
    reduction inside = r_;
    inside.root = 0;
    auto& open = collectives_under_way::here();
    open.launch_inside(*this,
                       make_flat_reduce(*team->inside.up, call.signature, sets(up_done_), inside, &own_));
    open.launch_inside(*this, make_flat_broadcast(*team->inside.down, call.signature, sets(down_done_),
                                                  r_.target, r_.bytes(), 0, &there_));
    r_.source = r_.target;
  }

  void plan_inside(tree const& place) {
    alone_ = place.is_root() && place.children() == 0;
    if (alone_) return;
    stream_shape const up = shape_of_reduction(r_, up_tag, true);
    up_.plan(*this, place, up, r_, true);
    down_.plan(*this, place, shape_of_result(up));
    if (leads_) r_.source = r_.target;
  }

  bool go_on() {
    bool const up = flat_ || alone_ || up_.go_on(*this, r_.bytes());
    if (leads_) go_on_between(own());
    if (alone_) return all_left();
    if (!flat_) return down_.go_on(*this, r_.to(), there_) && up && all_left();
    if (leads_ && !down_done_) collectives_under_way::here().go_on_inside(*team->inside.down);
    return up_done_ && down_done_ && all_left();
  }

  /// Elements of this host that are there.
  std::size_t own() const {
    if (flat_) return up_done_ ? r_.count : own_;
    return alone_ ? r_.count : up_.there() / r_.element_bytes;
  }

  // ---- between hosts

  void go_on_between(std::size_t own) {
    do {
      while (opened_ < r_.count && chunks_.size() < chunks_open) open_next();
      std::size_t begin = done_;
      std::size_t front = done_;
      bool in_turn = true;
      for (shared_chunk& chunk : chunks_) {
        chunk.go_on(*this, own - std::min(own, begin), in_turn);
        in_turn &= chunk.combined();
        if (front == begin && chunk.gathered()) front += chunk.elements();
        begin += chunk.elements();
      }
      there_ = front * r_.element_bytes;
    } while (drop_complete());
  }

  void open_next() {
    std::size_t const count = std::min(elements_of_chunk(), r_.count - opened_);
    reduction chunk = r_.rest(opened_);
    chunk.count = count;
    chunks_.emplace_back().open(*this, chunk, number_++);
    opened_ += count;
  }
  /// As equal as may be, and some for each host.
  std::size_t elements_of_chunk() const {
    std::size_t const hosts = team->hosts->leaders.size();
    bool const alone = static_cast<std::size_t>(team->rank_n) == hosts;
    std::size_t const wanted = alone ? chunk_bytes : chunk_bytes_inside;
    std::size_t const most = std::max(r_.count / hosts, std::size_t{1});
    std::size_t const chunks = std::min((r_.bytes() + wanted - 1) / wanted, most);
    return (r_.count + chunks - 1) / chunks;
  }

  bool drop_complete() {
    bool any = false;
    for (; !chunks_.empty() && chunks_.front().complete(); any = true) {
      done_ += chunks_.front().elements();
      chunks_.pop_front();
    }
    return any;
  }
  bool all_left() const { return !leads_ || done_ == r_.count; }

  reduction r_;
  bool leads_ = true;
  bool flat_ = false;   ///< members of this host have channels
  bool alone_ = false;  ///< there are no others on this host
  bool up_done_ = true;
  bool down_done_ = true;
  std::size_t own_ = 0;    ///< elements of this host that are there
  std::size_t there_ = 0;  ///< bytes of the result, for the others on this host
  array_ascent up_;
  array_descent down_;
  std::deque<shared_chunk> chunks_;  ///< those under way, in order
  std::uint32_t number_ = 0;
  std::size_t opened_ = 0;  ///< elements
  std::size_t done_ = 0;
};

}  // namespace

bool goes_by_shares(team_view const& view, std::size_t bytes) {
  auto const& team = static_cast<team_data const&>(view);
  if (team.hosts == nullptr || bytes < least_bytes) return false;
  return team.hosts->leaders.size() > 2 || bytes <= most_bytes_of_two;
}

collective* make_share_reduce(team_view& team, collective_signature signature, on_done done,
                              reduction const& what) {
  return make<share_reduce>(team, signature, done, what);
}

}  // namespace atl::engine
