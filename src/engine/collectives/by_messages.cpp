#include "engine/collectives/by_messages.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <vector>

#include <atoll/engine/am.hpp>

#include "engine/collectives/steps.hpp"

namespace atl::engine {

namespace {

/// Dissemination: in round k tell rank me + 2^k, hear from rank me - 2^k.
class dissemination_barrier final : public collective {
 public:
  void begin() override { tell(); }
  bool advance() override {
    while (distance_ < team->rank_n) {
      message* const m = take_step(*this, round_);
      if (m == nullptr) return false;
      release(m);
      ++round_;
      distance_ *= 2;
      tell();
    }
    return true;
  }

 private:
  void tell() {
    if (distance_ < team->rank_n)
      send_step(*this, (team->rank_me + distance_) % team->rank_n, round_, nullptr, 0);
  }
  std::uint32_t round_ = 0;
  std::int32_t distance_ = 1;
};

class tree_broadcast final : public collective {
 public:
  tree_broadcast(void* buffer, std::size_t bytes, std::int32_t root)
      : buffer_(buffer), bytes_(bytes), root_(root) {}

  void begin() override {
    if (team->rank_me != root_) return;
    send_to_children(*this, root_, buffer_, bytes_);
    complete_ = true;
  }
  bool advance() override {
    if (complete_) return true;
    message* const m = take_step(*this, broadcast_tag);
    if (m == nullptr) return false;
    if (bytes_ != 0) std::memcpy(buffer_, data_of(*m).data, bytes_);
    release(m);
    send_to_children(*this, root_, buffer_, bytes_);
    return complete_ = true;
  }

 private:
  void* buffer_;
  std::size_t bytes_;
  std::int32_t root_;
  bool complete_ = false;
};

/// Binomial tree to the root; for all, the root's result comes back down the same tree.
class tree_reduce final : public collective {
 public:
  explicit tree_reduce(reduction const& r) : r_(r), root_(r.root < 0 ? 0 : r.root), all_(r.root < 0) {}

  void begin() override {
    if (r_.target == nullptr) r_.target = scratch_.get(r_.count, r_.element_bytes);
    if (r_.target != r_.source && r_.bytes() != 0) std::memcpy(r_.target, r_.source, r_.bytes());
  }
  bool advance() override {
    if (!going_down_ && !combine_children()) return false;
    if (!all_ || is_root()) return true;
    message* const m = take_step(*this, broadcast_tag);
    if (m == nullptr) return false;
    if (r_.bytes() != 0) std::memcpy(r_.target, data_of(*m).data, r_.bytes());
    release(m);
    send_to_children(*this, root_, r_.target, r_.bytes());
    return true;
  }

 private:
  bool is_root() const { return team->rank_me == root_; }

  bool combine_children() {
    tree_place const place(*this, root_);
    for (; step_ < place.n; step_ *= 2, ++round_) {
      if ((place.v & step_) != 0) {
        send_step(*this, place.rank_of(place.v - step_), round_, r_.target, r_.bytes());
        break;
      }
      if (place.v + step_ >= place.n) continue;
      message* const m = take_step(*this, round_);
      if (m == nullptr) return false;
      r_.combine(r_.target, data_of(*m).data, r_.count, r_.operation);
      release(m);
    }
    going_down_ = true;
    if (all_ && is_root()) send_to_children(*this, root_, r_.target, r_.bytes());
    return true;
  }

  reduction r_;
  scratch scratch_;
  std::int32_t root_;
  bool all_;
  bool going_down_ = false;
  std::int32_t step_ = 1;
  std::uint32_t round_ = 0;
};

/// Bruck: in round k send the blocks gathered so far to rank me - 2^k;
/// blocks are in order of rank - me until the end.
class bruck_gather final : public collective {
 public:
  bruck_gather(void const* mine, std::size_t bytes, void* all)
      : bytes_(bytes), all_(static_cast<std::byte*>(all)) {
    own_.assign(static_cast<std::byte const*>(mine), static_cast<std::byte const*>(mine) + bytes);
  }

  void begin() override {
    blocks_.resize(bytes_ * static_cast<std::size_t>(team->rank_n));
    std::copy(own_.begin(), own_.end(), blocks_.begin());
    tell();
  }
  bool advance() override {
    std::int32_t const n = team->rank_n;
    while (have_ < n) {
      message* const m = take_step(*this, gather_tag + round_);
      if (m == nullptr) return false;
      step_data const d = data_of(*m);
      if (d.bytes != 0)
        std::memcpy(blocks_.data() + static_cast<std::size_t>(have_) * bytes_, d.data, d.bytes);
      release(m);
      have_ = std::min(2 * have_, n);
      ++round_;
      tell();
    }
    for (std::int32_t i = 0; i < n; ++i) {
      auto const rank = static_cast<std::size_t>((team->rank_me + i) % n);
      if (bytes_ != 0)
        std::memcpy(all_ + rank * bytes_, blocks_.data() + static_cast<std::size_t>(i) * bytes_, bytes_);
    }
    return true;
  }

 private:
  void tell() {
    std::int32_t const n = team->rank_n;
    if (have_ >= n) return;
    std::int32_t const count = std::min(have_, n - have_);
    send_step(*this, (team->rank_me - have_ + n) % n, gather_tag + round_, blocks_.data(),
              static_cast<std::size_t>(count) * bytes_);
  }
  std::size_t bytes_;
  std::byte* all_;
  std::vector<std::byte> own_;
  std::vector<std::byte> blocks_;
  std::int32_t have_ = 1;
  std::uint32_t round_ = 0;
};

}  // namespace

void send_to_children(collective const& c, std::int32_t root, void const* data, std::size_t bytes,
                      std::size_t alignment) {
  tree_place const place(c, root);
  std::int32_t const span =
      place.v == 0 ? static_cast<std::int32_t>(std::bit_ceil(static_cast<std::uint32_t>(place.n)))
                   : place.v & -place.v;
  for (std::int32_t step = span / 2; step >= 1; step /= 2) {
    if (place.v + step < place.n) {
      send_step(c, place.rank_of(place.v + step), broadcast_tag, data, bytes, alignment);
    }
  }
}

collective* make_dissemination(team_view& team, collective_signature signature, on_done done) {
  return make<dissemination_barrier>(team, signature, done);
}

collective* make_tree_broadcast(team_view& team, collective_signature signature, on_done done, void* buffer,
                                std::size_t bytes, std::int32_t root) {
  return make<tree_broadcast>(team, signature, done, buffer, bytes, root);
}

collective* make_tree_reduce(team_view& team, collective_signature signature, on_done done,
                             reduction const& what) {
  return make<tree_reduce>(team, signature, done, what);
}

collective* make_gather(team_view& team, collective_signature signature, on_done done, void const* mine,
                        std::size_t bytes, void* all) {
  return make<bruck_gather>(team, signature, done, mine, bytes, all);
}

}  // namespace atl::engine
