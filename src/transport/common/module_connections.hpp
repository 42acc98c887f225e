#pragma once

/// Who the peers of a module's network are, and how the connections to them stand: the part of the operations table that is an
/// agreement of two sides, whatever the wire below is. Of a Network it needs:
///   tend(Peer&)  looks at a connection that changes
///   refusal_is_heard  whether a peer is refused where this side cannot make its end; else it would wait for ever

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "transport/common/module.hpp"
#include "transport/common/peer.hpp"
#include "transport/network.hpp"

namespace atl::transport {

/// A Peer is a peer_state with an `endpoint`, which may be null, and knows whether its end is agreed().
template <class Network, class Peer>
class module_connections : public network {
 public:
  std::string last_error() const final { return error_; }

  void close(std::int32_t rank) final {
    Peer* const p = find(rank);
    if (p == nullptr) return;
    p->close_wanted = true;
    begin_closing(*p);
  }

 protected:
  using link = peer_state::link;

  explicit module_connections(network_config const& config)
      : me_(config.rank), ranks_(config.ranks), job_(config.job) {}

  Network& self() noexcept { return static_cast<Network&>(*this); }

  // ---- peers ----

  Peer* find(std::int32_t rank) {
    if (recent_ != nullptr && recent_->rank == rank) return recent_;
    auto const found = peers_.find(rank);
    if (found == peers_.end()) return nullptr;
    return recent_ = found->second.get();
  }

  Peer& make(std::int32_t rank) {
    std::unique_ptr<Peer>& p = peers_[rank];
    if (p == nullptr) {
      p = std::make_unique<Peer>();
      p->rank = rank;
    }
    return *p;
  }

  [[nodiscard]] bool may_be_peer(std::int32_t rank) const noexcept {
    return rank >= 0 && rank < ranks_ && rank != me_;
  }
  /// Does what a hello says begin with the job of this rank, and go on?
  [[nodiscard]] bool is_of_this_job(std::span<std::byte const> introduction) const noexcept {
    return introduction.size() > sizeof job_ && std::memcmp(introduction.data(), &job_, sizeof job_) == 0;
  }

  /// complete, with the peer; or why nothing can be started.
  started ready(std::int32_t rank, Peer*& out) {
    out = find(rank);
    if (out == nullptr || out->now == link::none || out->lost) {
      error_ = out != nullptr && out->lost && !out->why.empty()
                   ? out->why
                   : "there is no connection to rank " + std::to_string(rank);
      return started::unreachable;
    }
    return out->now == link::connected ? started::complete : started::no_room;
  }

  /// The next poll looks at it.
  void touch(Peer& p) {
    if (std::exchange(p.listed, true)) return;
    listed_.push_back(&p);
  }
  void touch_if_ending(Peer& p) {
    if (p.lost || p.now == link::closing) touch(p);
  }
  void tend_listed() {
    looked_at_.swap(listed_);
    for (Peer* const p : looked_at_) p->listed = false;
    for (Peer* const p : looked_at_) self().tend(*p);
    looked_at_.clear();
  }

  // ---- how they begin ----

  void set_link(Peer& p, link now) {
    auto const settled = [](link l) { return l == link::none || l == link::connected; };
    if (!settled(p.now)) --unsettled_;
    if (!settled(now)) ++unsettled_;
    p.now = now;
  }

  /// What connect() says where there is nothing to begin; else nothing, and the peer.
  std::optional<started> connect_as_it_stands(std::int32_t rank, Peer*& out) {
    if (rank == me_) {
      error_ = "the own rank is no peer";
      return started::unreachable;
    }
    Peer& p = make(rank);
    out = &p;
    if (p.lost || p.now == link::closing || (p.wishes && p.now == link::none)) return started::no_room;
    if (p.now == link::connected) return started::complete;
    if (p.now == link::none) return std::nullopt;
    p.asked = true;
    return started::under_way;
  }

  void begin_connection(Peer& p) {
    set_link(p, link::connecting);
    ++p.generation;
    p.sent = {};
    p.asked = p.close_wanted = p.said_bye = p.got_bye = p.lost_told = false;
    p.silent = outcome::ok;
  }

  void tell_connected(Peer& p) {
    tell(p, connection_change::connected);
    if (p.close_wanted) begin_closing(p);
  }

  // ---- how they end ----

  void begin_closing(Peer& p) {
    if (p.now != link::connected) return;
    set_link(p, link::closing);
    touch(p);
  }

  /// The peer starts nothing more.
  void take_bye(Peer& p) {
    p.got_bye = true;
    touch(p);
    if (p.now != link::connected) return;
    set_link(p, link::closing);
    tell(p, connection_change::closing);
  }

  void lose(Peer& p, std::string_view why) {
    if (!std::exchange(p.lost, true)) p.why = why;
    touch(p);
  }

  /// Once: that one which stood is lost.
  void tell_lost(Peer& p) {
    bool const stood = p.now == link::connected || p.now == link::closing;
    if (stood && !std::exchange(p.lost_told, true)) tell(p, connection_change::lost, p.why);
  }

  /// Nothing of it is left to be told. An endpoint that has stayed although it is lost is to be looked at.
  void end_connection(Peer& p) {
    bool const was_lost = p.lost && !p.agreed();
    bool const stood = p.now != link::connecting;
    set_link(p, link::none);
    ++p.generation;
    p.lost = p.lost && p.endpoint != nullptr;
    std::string const why = was_lost ? p.why : std::string();
    if (stood) {
      tell(p, connection_change::closed, why);
    } else if (p.asked) {
      tell(p, connection_change::refused, why);
    } else if (!Network::refusal_is_heard) {
      tell(p, connection_change::wanted, why);
    }
    if (p.wishes || p.lost) touch(p);
  }

  void tell(Peer& p, connection_change what, std::string_view words = {}) {
    ++told_;
    target_->connection({p.rank, what, words});
  }

  std::int32_t me_;
  std::int32_t ranks_;
  std::uint64_t job_;
  mutable std::string error_;

  std::unordered_map<std::int32_t, std::unique_ptr<Peer>> peers_;
  Peer* recent_ = nullptr;     ///< the last one that was looked for
  std::vector<Peer*> listed_;  ///< to be looked at by the next poll
  std::vector<Peer*> looked_at_;
  std::size_t unsettled_ = 0;      ///< connections that are being made, closed or lost
  std::uint32_t last_number_ = 0;  ///< of connections

  receiver* target_ = nullptr;  ///< while poll() runs
  unsigned told_ = 0;           ///< calls of this poll
};

}  // namespace atl::transport
