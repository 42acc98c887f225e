// Dissemination: in round k tell rank me + 2^k what has been gathered so far, hear the same from me - 2^k (Bruck
// and others, 1997). Everyone has heard of everyone after log2 n rounds.
//
// Over several hosts only one member of each takes part. The others' values come to it by a flat reduction where
// the members of the host have channels, and else up a tree; the result goes back the same way.

#include "engine/collectives/exchange.hpp"

#include <algorithm>
#include <cstring>

#include <atoll/engine/am.hpp>

#include "engine/collectives/flat_broadcast.hpp"
#include "engine/collectives/flat_reduce.hpp"
#include "engine/collectives/hierarchy.hpp"
#include "engine/collectives/steps.hpp"
#include "engine/collectives/tree.hpp"
#include "engine/collectives/under_way.hpp"

namespace atl::engine {

namespace {

class exchange : public collective {
 public:
  void begin() override {
    hosts_ = team->hosts.get();
    if (hosts_ != nullptr) {
      n_ = static_cast<std::int32_t>(hosts_->leaders.size());
      me_ = hosts_->my_host;
      if (hosts_->my_place != 0) n_ = 1, me_ = 0;
    } else {
      n_ = team->rank_n;
      me_ = team->rank_me;
    }
    prepare();
    // The last barrier of a team shows that nobody uses its channels any more.
    flat_inside_ = team->inside.up != nullptr && atl::kind_of(call.signature) != collective_kind::destroy;
    if (flat_inside_) {
      start_inside();
    } else if (hosts_ != nullptr) {
      inside_ = tree(*hosts_);
    }
    (void)go_on();
  }
  bool advance() override { return go_on(); }

 protected:
  enum class steps : std::uint8_t { plain, counted };
  /// `counted`: steps bring nothing, and it is known which of them have not left.
  explicit exchange(std::size_t bytes, steps how = steps::plain)
      : bytes_(bytes), counts_(how == steps::counted) {}

  /// Before anything is sent.
  virtual void prepare() {}
  /// What this rank brings along, and where the values of its host come together.
  virtual reduction contribution() const { return {nullptr, nullptr, 0, 1, nullptr, nullptr, 0}; }
  /// One more value of this host's members, in their order.
  virtual void take_in(std::byte const*) {}
  /// Values of all that take part in the rounds are there.
  virtual void all_there() {}

  std::byte* blocks_ = nullptr;  ///< of those that take part in the rounds, from the own one backwards
  std::byte* result_ = nullptr;
  std::size_t bytes_;
  std::int32_t n_ = 1;
  std::int32_t me_ = 0;
  std::uint32_t kept_back_ = 0;  ///< steps that have not left, if they are counted

 private:
  enum class phase : std::uint8_t {
    up_inside,
    gather_here,
    tell_up,
    rounds,
    hear_result,
    tell_down,
    down_inside
  };

  void start_inside() {
    phase_ = phase::up_inside;
    auto& all = collectives_under_way::here();
    on_done const up{[](void* self) { static_cast<exchange*>(self)->inside_done(&exchange::up_done_); },
                     this};
    on_done const down{[](void* self) { static_cast<exchange*>(self)->inside_done(&exchange::down_done_); },
                       this};
    all.launch_inside(*this, make_flat_reduce(*team->inside.up, call.signature, up, contribution()));
    all.launch_inside(
        *this, make_flat_broadcast(*team->inside.down, call.signature, down, result_, bytes_, 0, &there_));
  }

  void inside_done(bool exchange::*part) {
    this->*part = true;
    collectives_under_way::here().wake(*this);
  }
  /// Until a message comes, or a part inside the host is done. Always false.
  bool sleep() { return !(asleep = true); }

  bool go_on() {
    for (;;) {
      switch (phase_) {
        case phase::up_inside:
          if (!up_done_) return sleep();
          phase_ = hosts_->my_place == 0 ? phase::rounds : phase::down_inside;
          break;
        case phase::gather_here:
          if (!gather_here()) return false;
          phase_ = inside_.is_root() ? phase::rounds : phase::tell_up;
          break;
        case phase::tell_up:
          if (!tell(world_rank(inside_.parent()), up_tag, blocks_, bytes_)) return false;
          phase_ = phase::hear_result;
          break;
        case phase::rounds:
          if (!go_round()) return false;
          all_there();
          phase_ = flat_inside_ ? phase::down_inside : phase::tell_down;
          if (!flat_inside_) break;
          there_ = std::max(bytes_, std::size_t{1});
          collectives_under_way::here().go_on_inside(*team->inside.down);
          break;
        case phase::hear_result: {
          message* const m = take_step(*this, down_tag);
          if (m == nullptr) return sleep();
          if (bytes_ != 0) std::memcpy(result_, data_of(*m).data, bytes_);
          release(m);
          phase_ = phase::tell_down;
          break;
        }
        case phase::tell_down:
          for (; told_ < inside_.children(); ++told_) {
            std::int32_t const child = inside_.begin()[inside_.children() - 1 - told_];
            if (!tell(world_rank(child), down_tag, result_, bytes_)) return false;
          }
          return true;
        case phase::down_inside:
          return down_done_ || sleep();
      }
    }
  }

  std::int32_t world_rank(std::int32_t team_rank) const { return team->to_world(team_rank); }
  std::int32_t world_rank_of(std::int32_t place) const {
    return world_rank(hosts_ == nullptr ? place : hosts_->leaders[static_cast<std::size_t>(place)]);
  }
  bool tell(std::int32_t rank_of_job, std::uint32_t tag, std::byte const* data, std::size_t bytes) {
    if (counts_) {
      send_counted_step(*this, rank_of_job, step{tag}, kept_back_);
      return true;
    }
    step s{tag};
    s.data = data;
    s.bytes = bytes;
    return send_step(*this, rank_of_job, s);
  }

  bool gather_here() {
    for (; heard_ < inside_.children(); ++heard_) {
      message* const m = take_step(*this, up_tag, world_rank(inside_.begin()[heard_]));
      if (m == nullptr) return sleep();
      take_in(data_of(*m).data);
      release(m);
    }
    return true;
  }

  bool go_round() {
    while (have_ < n_) {
      std::int32_t const count = std::min(have_, n_ - have_);
      std::size_t const bytes = static_cast<std::size_t>(count) * bytes_;
      if (!told_round_) {
        std::int32_t const to = (me_ + have_) % n_;
        if (!tell(world_rank_of(to), round_tag + round_, blocks_, bytes)) return false;
        told_round_ = true;
      }
      message* const m = take_step(*this, round_tag + round_);
      if (m == nullptr) return sleep();
      if (bytes != 0)
        std::memcpy(blocks_ + static_cast<std::size_t>(have_) * bytes_, data_of(*m).data, bytes);
      release(m);
      have_ += count;
      ++round_;
      told_round_ = false;
    }
    return true;
  }

  team_hosts const* hosts_ = nullptr;
  tree inside_;
  phase phase_ = phase::gather_here;
  std::size_t heard_ = 0;
  std::size_t told_ = 0;
  std::int32_t have_ = 1;
  std::uint32_t round_ = 0;
  bool told_round_ = false;
  bool counts_;
  bool flat_inside_ = false;
  bool up_done_ = false;
  bool down_done_ = false;
  std::size_t there_ = 0;  ///< for the others on this host
};

class dissemination_barrier final : public exchange {
 public:
  dissemination_barrier() : exchange(0, steps::counted) {}

  /// Who has passed a barrier may make no progress for long: nothing that others need to pass it, too, is still here. (They
  /// are in it, and poll; whoever is not has what was sent to it. So this wait ends.)
  /// Nothing that belongs to the team comes after its end: all members have entered, so what this rank has not
  /// heard of them yet is on its way, as what it owes them is.
  bool advance() override {
    return exchange::advance() && kept_back_ == 0 && (!ends_team() || owes_nothing());
  }

 private:
  bool owes_nothing() const {
    team_data const* const down = team->inside.down;
    return owes_nothing(*team) && (down == nullptr || owes_nothing(*down));
  }
  static bool owes_nothing(team_data const& t) { return t.unheard == 0 && t.kept_back == 0; }
  bool ends_team() const {
    collective_kind const kind = atl::kind_of(call.signature);
    return kind == collective_kind::destroy || kind == collective_kind::finalize;
  }
};

class exchange_reduce final : public exchange {
 public:
  explicit exchange_reduce(reduction const& r) : exchange(r.bytes()), r_(r) {}

 private:
  void prepare() override {
    blocks_ = scratch_.get(r_.count * static_cast<std::size_t>(n_), r_.element_bytes);
    result_ = r_.to();
    if (bytes_ != 0) std::memcpy(blocks_, r_.source, bytes_);
  }
  reduction contribution() const override {
    return {r_.source, blocks_, r_.count, r_.element_bytes, r_.combine, r_.operation, 0};
  }
  void take_in(std::byte const* theirs) override { r_.combine(blocks_, theirs, r_.count, r_.operation); }
  void all_there() override {
    if (bytes_ == 0) return;
    std::memcpy(result_, value_of(0), bytes_);
    for (std::int32_t place = 1; place < n_; ++place)
      r_.combine(result_, value_of(place), r_.count, r_.operation);
  }
  std::byte const* value_of(std::int32_t place) const {
    return blocks_ + static_cast<std::size_t>((me_ - place + n_) % n_) * bytes_;
  }

  reduction r_;
  scratch scratch_;
};

}  // namespace

collective* make_dissemination(team_view& team, collective_signature signature, on_done done) {
  return make<dissemination_barrier>(team, signature, done);
}

bool goes_by_exchange(team_view const& view, std::size_t bytes) {
  auto const& team = static_cast<team_data const&>(view);
  team_hosts const* const over = team.hosts.get();
  std::size_t const n = over == nullptr ? static_cast<std::size_t>(team.rank_n) : over->leaders.size();
  return bytes <= eager_bytes / n;
}

collective* make_exchange_reduce(team_view& team, collective_signature signature, on_done done,
                                 reduction const& what) {
  return make<exchange_reduce>(team, signature, done, what);
}

}  // namespace atl::engine
