// Prefixes (Hillis and Steele, 1986): in round k the values of up to 2^k ranks, this one the last, go to rank
// me + 2^k; those of as many before them come from rank me - 2^k and are combined in front. One segment after the
// other goes through all rounds, and is granted when its turn comes.
//
// Over several hosts, if the ranks of each are neighbours, there are rounds inside each host, then among the last
// members of hosts, who have the values of theirs. What these have heard in the rounds, the values of all hosts before,
// they give to the others of their host, who combine it in front.

#include <algorithm>
#include <cstring>
#include <vector>

#include <atoll/engine/am.hpp>

#include "engine/collectives/hierarchy.hpp"
#include "engine/collectives/scan.hpp"
#include "engine/collectives/streams.hpp"

namespace atl::engine {

namespace {

class prefix_scan final : public collective {
 public:
  explicit prefix_scan(reduction const& r) : r_(r) {}

  void begin() override {
    std::size_t const elements = std::max(segment_bytes / r_.element_bytes, std::size_t{1});
    shape_ = {gather_tag, -1, r_.bytes(), elements * r_.element_bytes};
    bool const eager = shape_.bytes <= eager_bytes && !waits_for_receiver(*this);
    shape_.granted = eager ? 1 : 0;
    team_hosts const* const hosts = team->hosts.get();
    if (hosts != nullptr && hosts->consecutive) {
      plan_by_hosts(*hosts);
    } else {
      plan_rounds(team->rank_n, team->rank_me, [](std::int32_t place) { return place; });
    }
    earlier_ = scratch_.get(segment_elements(), r_.element_bytes);
    (void)advance();
  }

  bool advance() override {
    for (; done_ < shape_.segments(); ++done_, turn_ = 0, knows_before_ = false) {
      if (!begun_ && here_bytes() != 0 && r_.source != r_.target) std::memcpy(here(), own(), here_bytes());
      begun_ = true;
      for (; turn_ < rounds_.size(); ++turn_, sent_ = false) {
        if (!go_round(rounds_[turn_])) return false;
      }
      begun_ = false;
    }
    return true;
  }

 private:
  struct round {
    bool sends = false;
    bool takes = false;
    bool gives_before = false;  ///< sends what was kept, not all that is combined
    bool keeps = false;         ///< keeps what comes, apart from the own
    sending to;
    receiving from;
  };

  /// Rounds among so many members.
  template <class RankOf>
  void plan_rounds(std::int32_t n, std::int32_t my_place, RankOf rank_of, bool keep = false) {
    for (std::int32_t distance = 1; distance < n; distance *= 2, ++shape_.tag) {
      round next;
      next.keeps = keep;
      if (my_place + distance < n) plan_sending(next, rank_of(my_place + distance));
      if (my_place >= distance) plan_taking(next, rank_of(my_place - distance));
      rounds_.push_back(next);
    }
  }
  void plan_sending(round& r, std::int32_t rank) {
    shape_.peer = team->to_world(rank);
    r.sends = true;
    r.to = sending(shape_);
  }
  void plan_taking(round& r, std::int32_t rank) {
    shape_.peer = team->to_world(rank);
    r.takes = true;
    r.from = receiving(shape_);
  }

  void plan_by_hosts(team_hosts const& hosts) {
    auto const last_of = [&](std::int32_t host) {
      auto const h = static_cast<std::size_t>(host);
      return hosts.leaders[h] + hosts.sizes[h] - 1;
    };
    std::int32_t const last = last_of(hosts.my_host);
    auto const rank_at = [&](std::int32_t place) { return hosts.here[0] + place; };
    plan_rounds(static_cast<std::int32_t>(hosts.here.size()), hosts.my_place, rank_at);
    if (team->rank_me == last) {
      before_ = before_memory_.get(segment_elements(), r_.element_bytes);
      shape_.tag = round_tag;
      plan_rounds(static_cast<std::int32_t>(hosts.leaders.size()), hosts.my_host, last_of, true);
    }
    if (hosts.my_host == 0) return;
    shape_.tag = down_tag;
    round next;
    if (team->rank_me != last) {
      plan_taking(next, last);
      rounds_.push_back(next);
      return;
    }
    next.gives_before = true;
    for (std::int32_t rank = hosts.here[0]; rank < last; ++rank) {
      plan_sending(next, rank);
      rounds_.push_back(next);
    }
  }

  std::size_t segment_elements() const {
    return std::min(shape_.segment, std::max(shape_.bytes, r_.element_bytes)) / r_.element_bytes;
  }
  std::byte* here() const { return r_.to() + shape_.begin_of(done_); }
  std::byte const* own() const { return r_.from() + shape_.begin_of(done_); }
  std::size_t here_bytes() const { return shape_.bytes_of(done_); }

  bool go_round(round& r) {
    // Both are asked for before either is waited for.
    if (r.takes && r.from.outstanding() == 0 && !r.from.grant(*this, 1)) return false;
    if (!sent_ && r.sends && !r.to.send_next(*this, r.gives_before ? before_ : here())) return false;
    sent_ = true;
    if (!r.takes) return true;
    message* const m = r.from.take_next(*this);
    if (m == nullptr) return false;
    if (here_bytes() != 0) take_in(data_of(*m).data, r.keeps);
    release(m);
    return true;
  }
  void take_in(std::byte const* theirs, bool keep) {
    combine_in_front(theirs, here());
    if (!keep) return;
    if (knows_before_) {
      combine_in_front(theirs, before_);
    } else {
      std::memcpy(before_, theirs, here_bytes());
    }
    knows_before_ = true;
  }
  void combine_in_front(std::byte const* theirs, std::byte* values) const {
    std::memcpy(earlier_, theirs, here_bytes());
    r_.combine(earlier_, values, here_bytes() / r_.element_bytes, r_.operation);
    std::memcpy(values, earlier_, here_bytes());
  }

  reduction r_;
  stream_shape shape_;
  std::vector<round> rounds_;
  std::size_t done_ = 0;  ///< segments
  std::size_t turn_ = 0;  ///< round of the segment under way
  bool begun_ = false;
  bool sent_ = false;
  bool knows_before_ = false;
  std::byte* earlier_ = nullptr;
  std::byte* before_ = nullptr;  ///< at the last member of a host: of all hosts before
  scratch scratch_;
  scratch before_memory_;
};

}  // namespace

collective* make_scan(team_view& team, collective_signature signature, on_done done, reduction const& what) {
  auto const& members = static_cast<team_data&>(team);
  if (members.hosts != nullptr && what.bytes() <= eager_bytes / static_cast<std::size_t>(team.rank_n))
    return make_gathered_scan(team, signature, done, what);
  return make<prefix_scan>(team, signature, done, what);
}

}  // namespace atl::engine
