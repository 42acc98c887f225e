// Reductions to all inside a host. See collective.hpp for why two of everything are enough.
//
// What fits into a line travels in it. Longer arrays go piece by piece through blocks of transit memory that
// peers read:
//
//   publish a copy of the contribution; when all have: small pieces: combine everybody's, in rank order.
//   Others: combine everybody's share of this rank, publish that, and copy the others' shares when they are
//   there.
//
// Every share is combined by one rank, or by all in the same order, so all get the same bits. If transit
// memory is used up somewhere, the line says so, and all go on with the tree by messages.

#include <algorithm>
#include <cstring>
#include <numeric>
#include <vector>

#include "engine/collective.hpp"
#include "engine/world.hpp"

namespace atl::engine {

namespace {

/// What is reduced, and how.
struct reduction {
  std::byte* target;
  std::size_t count;
  std::size_t element_bytes;
  combine_function combine;
  void const* operation;
};

class line_reduce final : public collective {
 public:
  explicit line_reduce(reduction const& r) : r_(r) {}

  void begin() override { flat_publish(*team, number, signature, r_.target, r_.count * r_.element_bytes); }
  bool advance() override {
    if (!flat_complete(*team, seen_)) return false;
    std::size_t const bytes = r_.count * r_.element_bytes;
    if (bytes == 0) return true;  // nothing may be at a null address
    std::memcpy(r_.target, flat_payload_of(*team, 0), bytes);
    for (std::int32_t rank = 1; rank < team->rank_n; ++rank) {
      alignas(64) std::byte other[shm::flat_payload];
      std::memcpy(other, flat_payload_of(*team, rank), bytes);
      r_.combine(r_.target, other, r_.count, r_.operation);
    }
    return true;
  }

 private:
  reduction r_;
  std::uint32_t seen_ = 0;
};

/// The most that is in one rank's block at a time: it should stay in the second-level cache.
constexpr std::size_t piece_bytes = std::size_t{128} << 10;
/// Up to so many bytes of all ranks together, everyone combines everything.
constexpr std::size_t whole_bytes = std::size_t{16} << 10;

class staged_reduce final : public collective {
 public:
  explicit staged_reduce(reduction const& r) : r_(r) {}

  void begin() override { stage(); }

  bool advance() override {
    while (flat_complete(*team, seen_)) {
      seen_ = 0;
      if (!shares_published_) {
        if (!find_blocks()) return go_on_by_messages();
        if (!whole_) {
          combine_share();
          continue;
        }
        combine_all();
      } else {
        copy_shares();
      }
      begin_ += piece_;
      if (begin_ == r_.count) return true;
      stage();
    }
    return false;
  }

 private:
  struct range {
    std::size_t begin;
    std::size_t end;
  };

  std::size_t bytes(std::size_t elements) const { return elements * r_.element_bytes; }
  std::byte* target() const { return r_.target + bytes(begin_); }
  std::byte* own_block() const { return world->shm->at(world->shm->config().me, block_); }

  /// Elements of the piece that `rank` combines: whole cache lines where that is possible.
  range share_of(std::int32_t rank) const {
    auto const n = static_cast<std::size_t>(team->rank_n);
    std::size_t const line = 64 / std::gcd(r_.element_bytes, std::size_t{64});
    std::size_t const each = ((piece_ + n - 1) / n + line - 1) / line * line;
    std::size_t const from = std::min(piece_, each * static_cast<std::size_t>(rank));
    return {from, std::min(piece_, from + each)};
  }

  void stage() {
    shares_published_ = false;
    piece_ = std::min(r_.count - begin_, std::max(piece_bytes / r_.element_bytes, std::size_t{1}));
    whole_ = bytes(piece_) * static_cast<std::size_t>(team->rank_n) <= whole_bytes;
    block_ = team->staging.next(bytes(piece_));
    if (block_ != staging_blocks::none) {
      // Nobody else reads our own share.
      range const mine = whole_ ? range{piece_, piece_} : share_of(team->rank_me);
      std::memcpy(own_block(), target(), bytes(mine.begin));
      std::memcpy(own_block() + bytes(mine.end), target() + bytes(mine.end), bytes(piece_ - mine.end));
    }
    flat_publish(*team, number, signature, &block_, sizeof block_);
  }

  std::byte const* block_of(std::int32_t rank) const {
    return world->shm->at(local_rank_of(*team, rank), blocks_[static_cast<std::size_t>(rank)]);
  }

  bool find_blocks() {
    blocks_.resize(static_cast<std::size_t>(team->rank_n));
    for (std::int32_t rank = 0; rank < team->rank_n; ++rank) {
      auto& block = blocks_[static_cast<std::size_t>(rank)];
      std::memcpy(&block, flat_payload_of(*team, rank), sizeof block);
      if (block == staging_blocks::none) return false;
    }
    return true;
  }

  void combine_all() const {
    // In the same order everywhere: programs rely on equal results even where the operation prefers its first
    // argument (ties of a minimum and its place). The own contribution comes from a private copy: reading the
    // block while peers read it too would cost cache misses.
    alignas(64) std::byte own[whole_bytes / 2];
    if (team->rank_me != 0) {
      std::memcpy(own, target(), bytes(piece_));
      std::memcpy(target(), block_of(0), bytes(piece_));
    }
    for (std::int32_t rank = 1; rank < team->rank_n; ++rank) {
      r_.combine(target(), rank == team->rank_me ? own : block_of(rank), piece_, r_.operation);
    }
  }

  void combine_share() {
    range const mine = share_of(team->rank_me);
    std::byte* const here = target() + bytes(mine.begin);
    if (mine.end > mine.begin) {
      for (std::int32_t i = 1; i < team->rank_n; ++i) {
        std::byte const* const theirs = block_of((team->rank_me + i) % team->rank_n);
        r_.combine(here, theirs + bytes(mine.begin), mine.end - mine.begin, r_.operation);
      }
      std::memcpy(own_block() + bytes(mine.begin), here, bytes(mine.end - mine.begin));
    }
    shares_published_ = true;
    flat_publish(*team, number, signature, nullptr, 0);
  }

  void copy_shares() const {
    for (std::int32_t i = 1; i < team->rank_n; ++i) {
      std::int32_t const rank = (team->rank_me + i) % team->rank_n;
      range const theirs = share_of(rank);
      std::memcpy(target() + bytes(theirs.begin), block_of(rank) + bytes(theirs.begin),
                  bytes(theirs.end - theirs.begin));
    }
  }

  bool go_on_by_messages() {
    collective* const rest = make_tree_reduce(*team, signature, done, target(), r_.count - begin_,
                                              r_.element_bytes, r_.combine, r_.operation, -1);
    rest->number = number;
    done = {};
    launch_numbered(rest);
    return true;
  }

  reduction r_;
  std::size_t begin_ = 0;  ///< first element of the piece under way
  std::size_t piece_ = 0;  ///< its elements
  std::uint64_t block_ = 0;
  std::vector<std::uint64_t> blocks_;  ///< everybody's, by team rank
  bool whole_ = false;
  bool shares_published_ = false;
  std::uint32_t seen_ = 0;
};

}  // namespace

collective* make_flat_reduce(team_view& view, collective_signature signature, on_done done, void* target,
                             std::size_t count, std::size_t element_bytes, combine_function combine,
                             void const* operation) {
  auto& team = static_cast<team_data&>(view);
  if (!has_flat_channel(team)) return nullptr;
  reduction const r{static_cast<std::byte*>(target), count, element_bytes, combine, operation};
  if (count * element_bytes <= shm::flat_payload) return make<line_reduce>(team, signature, done, r);
  if (team.rank_n == 1) return nullptr;
  return make<staged_reduce>(team, signature, done, r);
}

}  // namespace atl::engine
