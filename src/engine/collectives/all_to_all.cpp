// All to all: in round k a block goes to rank me + k, another comes from rank me - k. A few rounds are open at a
// time, so that memory does not grow with the team. Who is furthest behind finds its partners in the same round or
// a later one, so it always goes on.
//
// Over several hosts, rounds are those of hosts while blocks are small. The lowest member of a host takes from the
// others what they have for the members of one other host, sends it there in one piece, and gives out what comes
// from another; the members of a host send each other their blocks themselves. Larger blocks go from rank to rank:
// they would gain little from travelling together, and take memory on the way.

#include <algorithm>
#include <cstring>
#include <deque>
#include <vector>

#include "engine/collectives/blocks.hpp"
#include "engine/collectives/hierarchy.hpp"
#include "engine/collectives/streams.hpp"

namespace atl::engine {

namespace {

/// Rounds, some of them open at a time. They stay where they are while they are.
template <class Round, std::size_t at_once>
class round_sequence {
 public:
  /// Goes through the rounds from 1 up to `end`. open(k, round) prepares round k; go_on(round) is true once it is
  /// complete. True when all are.
  template <class Open, class GoOn>
  bool go_on(std::int32_t end, Open open, GoOn go_on) {
    for (;;) {
      while (open_.size() < at_once && next_ < end) open(next_++, open_.emplace_back());
      for (Round& r : open_) r.complete = r.complete || go_on(r);
      if (open_.empty()) return true;
      if (!open_.front().complete) return false;
      while (!open_.empty() && open_.front().complete) open_.pop_front();
    }
  }

 private:
  std::int32_t next_ = 1;
  std::deque<Round> open_;
};

class all_to_all : public collective {
 public:
  all_to_all(void const* source, std::size_t bytes, void* target)
      : bytes_(bytes),
        source_(static_cast<std::byte const*>(source)),
        target_(static_cast<std::byte*>(target)) {}

  void begin() override {
    if (bytes_ != 0) std::memcpy(target_ + at(team->rank_me), source_ + at(team->rank_me), bytes_);
    (void)advance();
  }
  bool advance() override {
    return exchange_among(team->rank_n, team->rank_me, [](std::int32_t place) { return place; });
  }

 protected:
  [[nodiscard]] std::size_t at(std::int32_t rank) const noexcept {
    return static_cast<std::size_t>(rank) * bytes_;
  }

  /// Blocks from rank to rank among so many members.
  template <class RankOf>
  bool exchange_among(std::int32_t members, std::int32_t my_place, RankOf rank_of) {
    auto const open = [&](std::int32_t k, direct_round& r) {
      r.to_rank = rank_of((my_place + k) % members);
      r.from_rank = rank_of((my_place - k + members) % members);
      r.to = sending(shape_of_array(*this, gather_tag, r.to_rank, bytes_));
      r.from = receiving(shape_of_array(*this, gather_tag, r.from_rank, bytes_));
    };
    return direct_.go_on(members, open, [&](direct_round& r) {
      bool const sent = r.to.go_on(*this, source_ + at(r.to_rank), bytes_);
      return r.from.go_on(*this, target_ + at(r.from_rank)) && sent;
    });
  }

  std::size_t bytes_;
  std::byte const* source_;
  std::byte* target_;

 private:
  struct direct_round {
    std::int32_t to_rank;
    std::int32_t from_rank;
    sending to;
    receiving from;
    bool complete = false;
  };
  round_sequence<direct_round, 4> direct_;
};

/// The most that a host sends to another in one piece.
constexpr std::size_t most_packed = std::size_t{1} << 20;

class packed_all_to_all final : public all_to_all {
 public:
  using all_to_all::all_to_all;

  /// Equal on all members.
  static bool serves(team_data const& team, std::size_t bytes) {
    if (team.hosts == nullptr || bytes > eager_bytes) return false;
    std::size_t const most = most_members(*team.hosts);
    return most > 1 && most * most * bytes <= most_packed;
  }

  void begin() override {
    hosts_ = team->hosts.get();
    team_parts const parts(*team);
    order_ = parts.order_from(0);
    begins_.push_back(0);
    for (std::size_t host = 0; host < hosts_->sizes.size(); ++host)
      begins_.push_back(begins_.back() + at(hosts_->sizes[host]));
    if (leads()) {
      for (std::size_t i = 0; i < most_members(*hosts_); ++i)
        columns_.add(static_cast<std::int32_t>(i * hosts_->here.size()));
    }
    all_to_all::begin();
  }
  bool advance() override {
    auto const rank_of = [&](std::int32_t place) { return hosts_->here[static_cast<std::size_t>(place)]; };
    bool const inside =
        exchange_among(static_cast<std::int32_t>(hosts_->here.size()), hosts_->my_place, rank_of);
    auto const open = [&](std::int32_t k, host_round& r) {
      leads() ? open_as_leader(k, r) : open_as_member(k, r);
    };
    auto const go_on = [&](host_round& r) { return leads() ? lead(r) : follow(r); };
    return rounds_.go_on(static_cast<std::int32_t>(hosts_->leaders.size()), open, go_on) && inside;
  }

 private:
  struct host_round {
    std::size_t to_host;
    std::size_t from_host;
    sending to;  ///< the leader, or that of the other host
    receiving from;
    bool complete = false;

    // Of leaders. What leaves is in the order of its targets, and of its sources for each.
    std::vector<receiving> from_members;
    std::vector<sending> to_members;
    std::byte* out = nullptr;
    std::byte* in = nullptr;
    scratch out_memory;
    scratch in_memory;
  };

  static std::size_t most_members(team_hosts const& hosts) {
    return static_cast<std::size_t>(hosts.sizes.largest());
  }
  [[nodiscard]] bool leads() const noexcept { return hosts_->my_place == 0; }
  /// One member's blocks for the members of a host, or from them.
  [[nodiscard]] std::size_t row_bytes(std::size_t host) const { return begins_[host + 1] - begins_[host]; }
  [[nodiscard]] row_view row(std::byte const* array, std::size_t host) const {
    return {array, bytes_, order_, begins_[host]};
  }

  void choose_hosts(std::int32_t k, host_round& r) const {
    auto const n = hosts_->leaders.size();
    auto const mine = static_cast<std::size_t>(hosts_->my_host);
    r.to_host = (mine + static_cast<std::size_t>(k)) % n;
    r.from_host = (mine + n - static_cast<std::size_t>(k)) % n;
  }
  static std::uint32_t tag_of(std::int32_t k) { return gather_tag + static_cast<std::uint32_t>(k); }

  void open_as_member(std::int32_t k, host_round& r) const {
    choose_hosts(k, r);
    std::int32_t const leader = hosts_->here[0];
    r.to = sending(shape_of_array(*this, tag_of(k), leader, row_bytes(r.to_host)));
    r.from = receiving(shape_of_array(*this, tag_of(k), leader, row_bytes(r.from_host)));
  }
  bool follow(host_round& r) {
    bool const sent = r.to.go_on(*this, row(source_, r.to_host), row_bytes(r.to_host));
    return r.from.go_on(*this, row(target_, r.from_host)) && sent;
  }

  void open_as_leader(std::int32_t k, host_round& r) const {
    choose_hosts(k, r);
    std::size_t const here = hosts_->here.size();
    std::size_t const out = row_bytes(r.to_host);
    std::size_t const in = row_bytes(r.from_host);
    for (std::size_t i = 1; i < here; ++i) {
      r.from_members.emplace_back(shape_of_array(*this, tag_of(k), hosts_->here[i], out));
      r.to_members.emplace_back(shape_of_array(*this, tag_of(k), hosts_->here[i], in));
    }
    r.to = sending(shape_of_array(*this, tag_of(k), hosts_->leaders[r.to_host], here * out));
    r.from = receiving(shape_of_array(*this, tag_of(k), hosts_->leaders[r.from_host], here * in));
    r.out = r.out_memory.get(here, std::max(out, std::size_t{1}));
    r.in = r.in_memory.get(here, std::max(in, std::size_t{1}));
    row_view(r.out, bytes_, columns_).copy_from(row(source_, r.to_host), out);
  }
  bool lead(host_round& r) {
    bool complete = true;
    std::byte* column = r.out;
    for (receiving& member : r.from_members)
      complete &= member.go_on(*this, row_view(column += bytes_, bytes_, columns_));
    complete &= r.to.go_on(*this, r.out, complete ? hosts_->here.size() * row_bytes(r.to_host) : 0);

    complete &= r.from.go_on(*this, r.in);
    std::size_t const there = r.from.there();
    std::size_t const each = row_bytes(r.from_host);
    std::size_t begin = 0;
    for (sending& member : r.to_members) {
      begin += each;
      complete &= member.go_on(*this, r.in + begin, std::min(there - std::min(there, begin), each));
    }
    if (complete) row(target_, r.from_host).copy_in(0, r.in, each);
    return complete;
  }

  team_hosts const* hosts_ = nullptr;
  block_order order_;                ///< of a row with the blocks of all members, host after host
  std::vector<std::size_t> begins_;  ///< of each host in it
  block_order columns_;              ///< of one member's blocks among those that leave
  round_sequence<host_round, 2> rounds_;
};

}  // namespace

collective* make_all_to_all(team_view& team, collective_signature signature, on_done done, void const* source,
                            std::size_t bytes, void* target) {
  if (packed_all_to_all::serves(static_cast<team_data&>(team), bytes))
    return make<packed_all_to_all>(team, signature, done, source, bytes, target);
  return make<all_to_all>(team, signature, done, source, bytes, target);
}

}  // namespace atl::engine
