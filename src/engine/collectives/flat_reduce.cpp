#include "engine/collectives/flat_reduce.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <vector>

#include <atoll/engine/am.hpp>

#include "engine/collectives/by_messages.hpp"
#include "engine/collectives/flat.hpp"
#include "engine/collectives/steps.hpp"
#include "engine/collectives/under_way.hpp"
#include "engine/progress/progress_engine.hpp"

namespace atl::engine {

namespace {

/// Does this rank get the result?
bool has_result(team_data const& team, reduction const& r) { return r.root < 0 || r.root == team.rank_me; }

class line_reduce final : public flat_collective {
 public:
  explicit line_reduce(reduction const& r) : r_(r) {}

  void begin() override {
    if (r_.root == team->rank_me) skip();
    published_ = r_.root == team->rank_me || publish(r_.source, r_.bytes(), r_.root);
  }
  bool advance() override {
    if (!published_ && !(published_ = publish(r_.source, r_.bytes(), r_.root))) return false;
    if (has_result(*team, r_)) {
      if (!all_there()) return false;
      if (r_.bytes() != 0) combine();  // else nothing may be at a null address
    }
    if (r_.root >= 0) leave();
    return true;
  }

 private:
  void combine() const {
    std::size_t const bytes = r_.bytes();
    alignas(64) std::byte own[flat_payload];
    std::memcpy(own, r_.source, bytes);
    std::memcpy(r_.target, team->rank_me == 0 ? own : payload_of(0), bytes);
    for (std::int32_t rank = 1; rank < team->rank_n; ++rank) {
      alignas(64) std::byte other[flat_payload];
      std::memcpy(other, rank == team->rank_me ? own : payload_of(rank), bytes);
      r_.combine(r_.target, other, r_.count, r_.operation);
    }
  }

  reduction r_;
  bool published_ = false;
};

/// The most that is in one rank's block at a time: it should stay in the second-level cache.
constexpr std::size_t piece_bytes = std::size_t{128} << 10;
/// Up to so many bytes of all ranks together, one rank combines everything.
constexpr std::size_t whole_bytes = std::size_t{16} << 10;

class staged_reduce final : public flat_collective {
 public:
  staged_reduce(reduction const& r, std::size_t* there) : r_(r), there_(there) {}

  void begin() override { start_piece(); }

  bool advance() override {
    for (;;) {
      switch (now_) {
        case state::contribute:
          if (!contribute()) return false;
          break;
        case state::wait_for_contributions:
          if (!all_there()) return false;
          if (!find_blocks()) {
            if (!whole_ || r_.root < 0) return go_on_by_messages();
            now_ = state::wait_for_messages;
            break;
          }
          if (whole_) {
            combine_all();
            now_ = state::piece_done;
          } else {
            combine_share();
            now_ = state::share;
          }
          break;
        case state::wait_for_messages:
          if (!find_messages()) return false;
          combine_all();
          drop_messages();
          now_ = state::piece_done;
          break;
        case state::share:
          if (!share()) return false;
          break;
        case state::wait_for_shares:
          if (!all_there()) return false;
          copy_shares();
          now_ = state::piece_done;
          break;
        case state::piece_done:
          // Also where all wait for all: this rank's block may be the only one there is room for, so that others
          // must wait for it in the next step.
          leave();
          begin_ += piece_;
          if (there_ != nullptr) *there_ = begin_;
          if (begin_ == r_.count) return true;
          start_piece();
          break;
      }
    }
  }

 private:
  enum class state {
    contribute,
    wait_for_contributions,
    wait_for_messages,
    share,
    wait_for_shares,
    piece_done
  };
  struct range {
    std::size_t begin;
    std::size_t end;
    std::size_t size() const { return end - begin; }
  };

  bool result_here() const { return has_result(*team, r_); }
  std::size_t bytes(std::size_t elements) const { return elements * r_.element_bytes; }
  std::byte const* source() const { return r_.from() + bytes(begin_); }
  std::byte* target() const { return r_.to() + bytes(begin_); }
  std::byte* own_block() const { return own_block_at(block_); }

  /// Elements of the piece that `rank` combines: whole cache lines where that is possible.
  range share_of(std::int32_t rank) const {
    auto const n = static_cast<std::size_t>(team->rank_n);
    std::size_t const line = 64 / std::gcd(r_.element_bytes, std::size_t{64});
    std::size_t const each = ((piece_ + n - 1) / n + line - 1) / line * line;
    std::size_t const from = std::min(piece_, each * static_cast<std::size_t>(rank));
    return {from, std::min(piece_, from + each)};
  }

  void start_piece() {
    piece_ = std::min(r_.count - begin_, std::max(piece_bytes / r_.element_bytes, std::size_t{1}));
    whole_ = bytes(piece_) * static_cast<std::size_t>(team->rank_n) <= whole_bytes;
    if (whole_ && r_.root == team->rank_me) {
      skip();
      block_ = 0;
      now_ = state::wait_for_contributions;
    } else {
      now_ = state::contribute;
      (void)contribute();
    }
  }

  bool contribute() {
    if (!flat_room(*team)) return false;
    block_ = flat_block(*team, bytes(piece_));
    if (block_ == staging_blocks::later) return false;
    bool const staged = block_ != staging_blocks::none;
    if (staged) {
      // Nobody else reads our own share.
      range const mine = whole_ ? range{piece_, piece_} : share_of(team->rank_me);
      flat_copy(*team, own_block(), source(), bytes(mine.begin));
      flat_copy(*team, own_block() + bytes(mine.end), source() + bytes(mine.end), bytes(piece_ - mine.end));
    }
    bool const only_root_reads = whole_ && r_.root >= 0;
    if (only_root_reads && !staged && !send_piece()) return false;
    (void)publish(&block_, sizeof block_, only_root_reads ? r_.root : -1);
    if (staged) team->staging.used_in(team->flat_step);
    now_ = only_root_reads ? state::piece_done : state::wait_for_contributions;
    return true;
  }

  /// By message to the root.
  bool send_piece() const {
    step what{message_tag(team->rank_me)};
    what.data = source();
    what.bytes = bytes(piece_);
    return send_step(*this, team->to_world(r_.root), what);
  }

  static std::uint32_t message_tag(std::int32_t rank) { return flat_tag + static_cast<std::uint32_t>(rank); }

  /// Where everybody's contribution is; false if some could not be staged.
  bool find_blocks() {
    blocks_.assign(static_cast<std::size_t>(team->rank_n), nullptr);
    bool all = block_ != staging_blocks::none;
    for (std::int32_t rank = 0; rank < team->rank_n; ++rank) {
      if (rank == team->rank_me) continue;
      std::uint64_t block = 0;
      std::memcpy(&block, payload_of(rank), sizeof block);
      if (block == staging_blocks::none) {
        all = false;
      } else {
        blocks_[static_cast<std::size_t>(rank)] = block_at(rank, block);
      }
    }
    return all;
  }

  /// The contributions that come by messages; false if some are not there yet.
  bool find_messages() {
    for (std::int32_t rank = 0; rank < team->rank_n; ++rank) {
      auto& block = blocks_[static_cast<std::size_t>(rank)];
      if (rank == team->rank_me || block != nullptr) continue;
      transport::message* const m = take_step(*this, message_tag(rank));
      if (m == nullptr) return false;
      messages_.push_back(m);
      block = data_of(*m).data;
    }
    return true;
  }

  void drop_messages() {
    for (transport::message* m : messages_) release(m);
    messages_.clear();
  }

  void combine_all() const {
    // In the same order everywhere: programs rely on equal results even where the operation prefers its first
    // argument (ties of a minimum and its place). The own contribution comes from private memory: reading the
    // block while peers read it too would cost cache misses.
    alignas(64) std::byte copy[whole_bytes / 2];
    std::byte const* own = source();
    if (own == target() && team->rank_me != 0) {
      std::memcpy(copy, own, bytes(piece_));
      own = copy;
    }
    for (std::int32_t rank = 0; rank < team->rank_n; ++rank) {
      std::byte const* const theirs = rank == team->rank_me ? own : blocks_[static_cast<std::size_t>(rank)];
      if (rank != 0) {
        r_.combine(target(), theirs, piece_, r_.operation);
      } else if (theirs != target()) {
        std::memcpy(target(), theirs, bytes(piece_));
      }
    }
  }

  void combine_share() {
    range const mine = share_of(team->rank_me);
    if (mine.size() == 0) return;
    // For all pieces: rank 0's share is the largest of each, and the first piece is; the own one may grow.
    share_ =
        result_here() ? target() + bytes(mine.begin) : scratch_.get(share_of(0).size(), r_.element_bytes);
    std::byte const* const own = source() + bytes(mine.begin);
    if (share_ != own) std::memcpy(share_, own, bytes(mine.size()));
    for (std::int32_t i = 1; i < team->rank_n; ++i) {
      std::byte const* const theirs = blocks_[static_cast<std::size_t>((team->rank_me + i) % team->rank_n)];
      r_.combine(share_, theirs + bytes(mine.begin), mine.size(), r_.operation);
    }
  }

  bool share() {
    if (r_.root == team->rank_me) {
      skip();
    } else {
      if (!flat_room(*team)) return false;
      range const mine = share_of(team->rank_me);
      flat_copy(*team, own_block() + bytes(mine.begin), share_, bytes(mine.size()));
      (void)publish(nullptr, 0, r_.root);
      team->staging.used_in(team->flat_step);
    }
    now_ = result_here() ? state::wait_for_shares : state::piece_done;
    return true;
  }

  void copy_shares() const {
    for (std::int32_t i = 1; i < team->rank_n; ++i) {
      std::int32_t const rank = (team->rank_me + i) % team->rank_n;
      range const theirs = share_of(rank);
      if (theirs.size() == 0) continue;
      std::memcpy(target() + bytes(theirs.begin),
                  blocks_[static_cast<std::size_t>(rank)] + bytes(theirs.begin), bytes(theirs.size()));
    }
  }

  bool go_on_by_messages() {
    leave();
    collectives_under_way::here().launch_rest(*this,
                                              make_reduce(*team, call.signature, done, r_.rest(begin_)));
    return true;
  }

  reduction r_;
  std::size_t* there_;
  state now_ = state::contribute;
  std::size_t begin_ = 0;  ///< first element of the piece under way
  std::size_t piece_ = 0;  ///< its elements
  std::uint64_t block_ = 0;
  std::vector<std::byte const*> blocks_;  ///< everybody's contribution, by team rank
  std::vector<transport::message*> messages_;
  std::byte* share_ = nullptr;
  scratch scratch_;
  bool whole_ = false;
};

}  // namespace

collective* make_flat_reduce(team_view& team, collective_signature signature, on_done done,
                             reduction const& what, std::size_t* there) {
  if (what.bytes() <= flat_payload) return make<line_reduce>(team, signature, done, what);
  return make<staged_reduce>(team, signature, done, what, there);
}

}  // namespace atl::engine
