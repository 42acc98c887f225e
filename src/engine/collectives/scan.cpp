// Prefixes (Hillis and Steele, 1986): in round k the values of up to 2^k ranks, this one the last, go to rank
// me + 2^k; those of as many before them come from rank me - 2^k and are combined in front. One segment after the
// other goes through all rounds, and is granted when its turn comes.

#include <algorithm>
#include <cstring>
#include <vector>

#include <atoll/engine/am.hpp>

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
    for (std::int32_t distance = 1; distance < team->rank_n; distance *= 2) {
      round next;
      if (team->rank_me + distance < team->rank_n) {
        shape_.peer = team->to_world(team->rank_me + distance);
        next.sends = true;
        next.to = sending(shape_);
      }
      if (team->rank_me >= distance) {
        shape_.peer = team->to_world(team->rank_me - distance);
        next.takes = true;
        next.from = receiving(shape_);
      }
      ++shape_.tag;
      rounds_.push_back(next);
    }
    earlier_ =
        scratch_.get(std::min(shape_.segment, std::max(shape_.bytes, r_.element_bytes)) / r_.element_bytes,
                     r_.element_bytes);
    (void)advance();
  }

  bool advance() override {
    for (; done_ < shape_.segments(); ++done_, turn_ = 0) {
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
    sending to;
    receiving from;
  };

  std::byte* here() const { return r_.to() + shape_.begin_of(done_); }
  std::byte const* own() const { return r_.from() + shape_.begin_of(done_); }
  std::size_t here_bytes() const { return shape_.bytes_of(done_); }

  bool go_round(round& r) {
    // Both are asked for before either is waited for.
    if (r.takes && r.from.outstanding() == 0 && !r.from.grant(*this, 1)) return false;
    if (!sent_ && r.sends && !r.to.send_next(*this, here())) return false;
    sent_ = true;
    if (!r.takes) return true;
    message* const m = r.from.take_next(*this);
    if (m == nullptr) return false;
    std::size_t const bytes = here_bytes();
    if (bytes != 0) std::memcpy(earlier_, data_of(*m).data, bytes);
    release(m);
    r_.combine(earlier_, here(), bytes / r_.element_bytes, r_.operation);
    if (bytes != 0) std::memcpy(here(), earlier_, bytes);
    return true;
  }

  reduction r_;
  stream_shape shape_;
  std::vector<round> rounds_;
  std::size_t done_ = 0;  ///< segments
  std::size_t turn_ = 0;  ///< round of the segment under way
  bool begun_ = false;
  bool sent_ = false;
  std::byte* earlier_ = nullptr;
  scratch scratch_;
};

}  // namespace

collective* make_scan(team_view& team, collective_signature signature, on_done done, reduction const& what) {
  return make<prefix_scan>(team, signature, done, what);
}

}  // namespace atl::engine
