// Everyone's block to everyone (Bruck and others, 1997): in round k a host sends the blocks that it has so far, its own
// and those of the 2^k - 1 hosts behind it, to the host 2^k before it, and gets as many from the one 2^k behind it. The
// lowest member does so for its host: it takes the others' blocks first, and gives them the result, by a flat broadcast
// if they have a channel and else down a tree. (Of a team on one host, all members take part in the rounds.)
//
// Blocks are put where they belong at once; what comes is sent on as soon as all before it is there.

#include <algorithm>
#include <cstring>
#include <vector>

#include "engine/collectives/array_descent.hpp"
#include "engine/collectives/by_messages.hpp"
#include "engine/collectives/flat_broadcast.hpp"
#include "engine/collectives/hierarchy.hpp"
#include "engine/collectives/scan.hpp"
#include "engine/collectives/streams.hpp"
#include "engine/collectives/under_way.hpp"

namespace atl::engine {

namespace {

class gather_all : public collective {
 public:
  gather_all(void const* mine, std::size_t bytes, void* all)
      : all_(static_cast<std::byte*>(all)), bytes_(bytes), mine_(static_cast<std::byte const*>(mine)) {}

  void begin() override {
    std::byte* const own = block_of(team->rank_me);
    if (bytes_ != 0 && own != mine_) std::memmove(own, mine_, bytes_);
    team_hosts const* const hosts = team->hosts.get();
    stands_for_host_ = hosts == nullptr || hosts->my_place == 0;
    if (stands_for_host_) {
      plan_rounds();
    } else {
      outgoing_.push_back({bytes_, sending(shape_of_array(*this, gather_tag, hosts->here[0], bytes_))});
    }
    if (hosts != nullptr) plan_down();
    (void)go_on();
  }
  bool advance() override { return go_on(); }

 protected:
  [[nodiscard]] std::byte* block_of(std::int32_t rank) const { return all_ + bytes_of(rank); }

  std::byte* all_;

 private:
  // Parts of the row: the blocks of this host, those of the host behind it, and so on around.
  struct incoming {
    std::size_t begin;
    receiving stream;
  };
  struct outgoing {
    std::size_t bytes;  ///< at the front
    sending stream;
  };

  [[nodiscard]] std::size_t bytes_of(std::int32_t blocks) const {
    return static_cast<std::size_t>(blocks) * bytes_;
  }
  [[nodiscard]] std::size_t all_bytes() const { return bytes_of(team->rank_n); }

  void plan_rounds() {
    team_parts const parts(*team);
    std::int32_t const n = parts.count();
    order_ = parts.order_from(parts.mine());
    std::int32_t have = 1;  // blocks
    for (; have < parts.size_of(parts.mine()); ++have)
      take(gather_tag, team->hosts->here[place(have)], have, 1);
    std::uint32_t tag = gather_tag;
    for (std::int32_t distance = 1; distance < n; distance *= 2, ++tag) {
      std::int32_t ours = 0;
      std::int32_t theirs = 0;
      for (std::int32_t i = 0; i < std::min(distance, n - distance); ++i) {
        ours += parts.size_of(parts.after_mine(i));
        theirs += parts.size_of(parts.after_mine(distance + i));
      }
      std::int32_t const to = parts.leader_of(parts.after_mine(n - distance));
      outgoing_.push_back({bytes_of(ours), sending(shape_of_array(*this, tag, to, bytes_of(ours)))});
      take(tag, parts.leader_of(parts.after_mine(distance)), have, theirs);
      have += theirs;
    }
  }
  void take(std::uint32_t tag, std::int32_t peer, std::int32_t begin, std::int32_t blocks) {
    incoming_.push_back({bytes_of(begin), receiving(shape_of_array(*this, tag, peer, bytes_of(blocks)))});
  }
  static std::size_t place(std::int32_t i) { return static_cast<std::size_t>(i); }

  void plan_down() {
    if (team->inside.down != nullptr) {
      down_done_ = false;
      collectives_under_way::here().launch_inside(
          *this, make_flat_broadcast(*team->inside.down, call.signature, sets(down_done_), all_, all_bytes(),
                                     0, &there_));
    } else {
      down_.plan(*this, tree(*team->hosts), shape_of_array(*this, down_tag, team->rank_me, all_bytes()));
    }
  }

  bool go_on() {
    bool come = true;
    std::size_t there = bytes_;  // of the row
    for (incoming& part : incoming_) {
      bool const all = part.stream.go_on(*this, row_view(all_, bytes_, order_, part.begin));
      if (come) there = part.begin + part.stream.there();
      come &= all;
    }
    bool sent = true;
    row_view const row =
        stands_for_host_ ? row_view(all_, bytes_, order_) : row_view(block_of(team->rank_me));
    for (outgoing& part : outgoing_) sent &= part.stream.go_on(*this, row, std::min(there, part.bytes));
    if (team->hosts == nullptr) return come && sent;
    if (stands_for_host_) there_ = come ? std::max(all_bytes(), std::size_t{1}) : at_front(there);
    if (team->inside.down == nullptr) return down_.go_on(*this, all_, there_) && sent;
    if (stands_for_host_ && !down_done_) collectives_under_way::here().go_on_inside(*team->inside.down);
    return sent && down_done_;
  }
  /// Bytes at the front of the result, if so many at the front of the row are there, and not all.
  [[nodiscard]] std::size_t at_front(std::size_t of_row) const {
    if (!team->hosts->consecutive) return 0;
    std::size_t const until_end = all_bytes() - bytes_of(team->rank_me);
    if (until_end == all_bytes()) return of_row;
    return of_row - std::min(of_row, until_end);
  }

  std::size_t bytes_;
  std::byte const* mine_;
  bool stands_for_host_ = true;
  bool down_done_ = true;
  std::size_t there_ = 0;  ///< of the result, for the others on this host
  block_order order_;      ///< of the row
  std::vector<incoming> incoming_;
  std::vector<outgoing> outgoing_;
  array_descent down_;
};

class gathered_scan final : public gather_all {
 public:
  explicit gathered_scan(reduction const& r) : gather_all(r.source, r.bytes(), nullptr), r_(r) {}

  void begin() override {
    all_ = scratch_.get(r_.count * static_cast<std::size_t>(team->rank_n), r_.element_bytes);
    gather_all::begin();
  }
  bool advance() override {
    if (!gather_all::advance()) return false;
    if (r_.bytes() == 0) return true;
    std::memcpy(r_.to(), block_of(0), r_.bytes());
    for (std::int32_t rank = 1; rank <= team->rank_me; ++rank)
      r_.combine(r_.to(), block_of(rank), r_.count, r_.operation);
    return true;
  }

 private:
  reduction r_;
  scratch scratch_;
};

}  // namespace

collective* make_gather(team_view& team, collective_signature signature, on_done done, void const* mine,
                        std::size_t bytes, void* all) {
  return make<gather_all>(team, signature, done, mine, bytes, all);
}

collective* make_gathered_scan(team_view& team, collective_signature signature, on_done done,
                               reduction const& what) {
  return make<gathered_scan>(team, signature, done, what);
}

}  // namespace atl::engine
