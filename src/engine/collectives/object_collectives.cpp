// Broadcast and reduction of objects that must be serialised: trees of messages, with the program's own functions
// at both ends.

#include <atoll/engine/object_collectives.hpp>

#include <optional>
#include <vector>

#include "engine/collectives/object_streams.hpp"
#include "engine/collectives/tree.hpp"
#include "engine/collectives/under_way.hpp"

namespace atl::engine {

namespace {

/// An object goes down the tree; what comes is passed on as it is, as soon as it comes.
class descent {
 public:
  /// `waits`: for the leave of receivers, at the sender's side and at theirs.
  void plan(collective const& c, tree const& place, bool waits) {
    is_root_ = place.is_root();
    if (!is_root_) from_parent_.emplace(object_edge{down_tag, c.team->to_world(place.parent()), waits});
    to_children_.reserve(place.children());
    for (std::size_t i = place.children(); i-- > 0;)
      to_children_.emplace_back(object_edge{down_tag, c.team->to_world(place.begin()[i]), waits});
  }
  /// At the root, whose object it is.
  void begin(object_functions const& functions, void* object) {
    if (!to_children_.empty()) packed_ = functions.pack(object);
  }
  bool go_on(collective& c, object_functions const& functions, void* object) {
    bool complete = is_root_ || from_parent_->go_on(c);
    if (!is_root_ && !from_parent_->begun()) return false;
    object_functions::packed const& what = is_root_ ? packed_ : from_parent_->what();
    std::size_t const there = is_root_ ? what.bytes : from_parent_->there();
    if (complete && !is_root_ && !replaced_) {
      functions.replace(object, what.data, what.bytes);
      replaced_ = true;
    }
    for (object_sending& child : to_children_) complete &= child.go_on(c, what, there);
    return complete;
  }

 private:
  bool is_root_ = false;
  bool replaced_ = false;
  object_functions::packed packed_{};
  std::optional<object_receiving> from_parent_;
  std::vector<object_sending> to_children_;
};

class object_broadcast final : public collective {
 public:
  object_broadcast(object_functions const* functions, void* object, std::int32_t root)
      : functions_(functions), object_(object), root_(root) {}

  void begin() override {
    down_.plan(*this, tree(*team, root_), waits_for_receiver(*this));
    if (team->rank_me == root_) down_.begin(*functions_, object_);
    (void)advance();
  }
  bool advance() override { return down_.go_on(*this, *functions_, object_); }

 private:
  object_functions const* functions_;
  void* object_;
  std::int32_t root_;
  descent down_;
};

class object_reduce final : public collective {
 public:
  object_reduce(object_functions const* functions, void* object, std::int32_t root)
      : functions_(functions), object_(object), root_(root < 0 ? 0 : root), all_(root < 0) {}

  void begin() override {
    place_ = tree(*team, root_);
    // For all, nobody can be ahead.
    waits_ = !all_ && waits_for_receiver(*this);
    if (all_) down_.plan(*this, place_, false);
    if (!place_.is_root()) to_parent_.emplace(edge_to(place_.parent()));
    (void)advance();
  }
  bool advance() override {
    if (!combined_) {
      if (!combine_children()) return false;
      combined_ = true;
      if (to_parent_) {
        packed_ = functions_->pack(object_);
      } else if (all_) {
        down_.begin(*functions_, object_);
      }
    }
    if (to_parent_ && !to_parent_->go_on(*this, packed_, packed_.bytes)) return false;
    return !all_ || down_.go_on(*this, *functions_, object_);
  }

 private:
  object_edge edge_to(std::int32_t team_rank) const { return {up_tag, team->to_world(team_rank), waits_}; }

  /// One child after the other, so that only one object is kept.
  bool combine_children() {
    for (; turn_ < place_.children(); ++turn_) {
      if (!child_) child_.emplace(edge_to(place_.begin()[turn_]));
      if (!child_->go_on(*this)) return false;
      functions_->combine(object_, child_->what().data, child_->what().bytes);
      child_.reset();
    }
    return true;
  }

  object_functions const* functions_;
  void* object_;
  std::int32_t root_;
  bool all_;
  bool waits_ = false;
  bool combined_ = false;
  std::size_t turn_ = 0;
  tree place_;
  object_functions::packed packed_{};
  std::optional<object_receiving> child_;
  std::optional<object_sending> to_parent_;
  descent down_;
};

}  // namespace

void start_broadcast_object(team_view& team, object_functions const& functions, void* object,
                            std::int32_t root, on_done done) {
  launch(make<object_broadcast>(team, sign(collective_kind::broadcast_object, root), done, &functions, object,
                                root));
}

void start_reduce_object(team_view& team, object_functions const& functions, void* object, std::int32_t root,
                         on_done done) {
  auto const kind = root < 0 ? collective_kind::reduce_all_object : collective_kind::reduce_one_object;
  launch(make<object_reduce>(team, sign(kind, root), done, &functions, object, root));
}

}  // namespace atl::engine
