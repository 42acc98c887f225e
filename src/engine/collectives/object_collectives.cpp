// Broadcast and reduction of objects that must be serialised: binomial trees of messages, with the program's
// own functions at both ends.

#include <atoll/engine/object_collectives.hpp>

#include <atoll/engine/am.hpp>

#include "engine/collectives/by_messages.hpp"
#include "engine/collectives/steps.hpp"
#include "engine/collectives/under_way.hpp"

namespace atl::engine {

using transport::message;

namespace {

/// Goes down the tree; what arrived is passed on as it is.
bool take_from_parent(collective& c, object_functions const& functions, void* object, std::int32_t root) {
  message* const m = take_step(c, broadcast_tag);
  if (m == nullptr) return false;
  step_data const d = data_of(*m);
  send_to_children(c, root, d.data, d.bytes, d.alignment);
  functions.replace(object, d.data, d.bytes);
  release(m);
  return true;
}

void send_down(collective const& c, object_functions const& functions, void* object, std::int32_t root) {
  if (c.team->rank_n == 1) return;
  object_functions::packed const p = functions.pack(object);
  send_to_children(c, root, p.data, p.bytes, p.alignment);
}

class object_broadcast final : public collective {
 public:
  object_broadcast(object_functions const* functions, void* object, std::int32_t root)
      : functions_(functions), object_(object), root_(root) {}

  void begin() override {
    if (team->rank_me == root_) send_down(*this, *functions_, object_, root_);
  }
  bool advance() override {
    return team->rank_me == root_ || take_from_parent(*this, *functions_, object_, root_);
  }

 private:
  object_functions const* functions_;
  void* object_;
  std::int32_t root_;
};

class object_reduce final : public collective {
 public:
  object_reduce(object_functions const* functions, void* object, std::int32_t root)
      : functions_(functions), object_(object), root_(root < 0 ? 0 : root), all_(root < 0) {}

  void begin() override {}
  bool advance() override {
    if (!combined_ && !combine_children()) return false;
    return !all_ || team->rank_me == root_ || take_from_parent(*this, *functions_, object_, root_);
  }

 private:
  bool combine_children() {
    tree_place const place(*this, root_);
    for (; step_ < place.n; step_ *= 2, ++round_) {
      if ((place.v & step_) != 0) {
        object_functions::packed const p = functions_->pack(object_);
        send_step(*this, place.rank_of(place.v - step_), round_, p.data, p.bytes, p.alignment);
        break;
      }
      if (place.v + step_ >= place.n) continue;
      message* const m = take_step(*this, round_);
      if (m == nullptr) return false;
      step_data const d = data_of(*m);
      functions_->combine(object_, d.data, d.bytes);
      release(m);
    }
    combined_ = true;
    if (all_ && team->rank_me == root_) send_down(*this, *functions_, object_, root_);
    return true;
  }

  object_functions const* functions_;
  void* object_;
  std::int32_t root_;
  bool all_;
  bool combined_ = false;
  std::int32_t step_ = 1;
  std::uint32_t round_ = 0;
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
