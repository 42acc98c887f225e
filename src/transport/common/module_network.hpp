#pragma once

/// The part of the operations table that is the same over each library: what is to be told, and what messages, puts, gets and
/// flushes have to be; connections are module_connections.hpp's. What differs is the Network's, which derives from this.
///
/// Of a Network it needs, beside what connections do:
///   advance()            moves the library on
///   take, give           memory of a message, with `headers` bytes in front of a payload
///   send_block(Peer&, …) sends what has been written there
///   transfer(Peer&, …)   starts a put or get whose places are good
///   on_host(local_place) is that memory of the host?
///   flush_one(Peer&, …)  starts a flush; one of many adds itself to those, and says flushed_one()

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <memory>
#include <span>
#include <string_view>
#include <unordered_set>

#include "memory/kind.hpp"
#include "transport/common/module_connections.hpp"
#include "transport/common/object_pool.hpp"
#include "transport/common/runs.hpp"
#include "transport/network.hpp"

namespace atl::transport {

inline started under_way_for(operation const* events) {
  return events != nullptr && events->asked != 0 ? started::under_way : started::complete;
}

/// A Peer is a peer_state; a Record stands for something that is under way; the Key is a parameter since it is incomplete here.
template <class Network, class Peer, class Record, class Key = remote_key>
class module_network : public module_connections<Network, Peer> {
  using connections = module_connections<Network, Peer>;

 public:
  std::string_view name() const final { return module_name; }
  transport::abilities const& abilities() const final { return abilities_; }
  transport::limits const& limits() const final { return limits_; }
  message_sizes sizes(std::int32_t, lane where) const final {
    message_sizes of_lane = sizes_;
    if (where == lane::control) of_lane.in_place = longest_in_place_;
    return of_lane;
  }

  started begin(std::int32_t rank, lane where, std::size_t header_size, std::size_t least, std::size_t most,
                network_buffer& buffer) final {
    Peer* p = nullptr;
    if (started const s = self().ready(rank, p); s != started::complete) return s;
    std::size_t const longest = where == lane::control ? longest_in_place_ : sizes_.in_place;
    if (least > longest || header_size > sizes_.header) return too_long();
    if (p->room[lane_of(where)] == 0) return started::no_room;
    block_pointer const b = self().take(*p, std::max(least, std::min(most, longest)));
    if (b == nullptr) return started::no_room;
    std::size_t const at = payload_at(header_size);
    buffer.payload = b->begin() + at;
    buffer.capacity = b->room - Network::headers;
    buffer.peer = rank;
    buffer.lane = where;
    buffer.transport_words[0] = reinterpret_cast<std::uintptr_t>(b);
    buffer.transport_words[1] = at;
    buffer.transport_words[2] = p->generation;
    --p->room[lane_of(where)];
    ++p->out;
    return started::complete;
  }
  void commit(network_buffer& buffer, std::span<std::byte const> header, std::size_t bytes) final {
    Peer& p = *find(buffer.peer);
    if (p.generation != buffer.transport_words[2] || p.lost || p.endpoint == nullptr) {
      cancel(buffer);
      return;
    }
    block_pointer const b = block_of(buffer);
    std::size_t const at = payload_at(header.size());
    // Where a header of another length was announced.
    if (at != buffer.transport_words[1]) std::memmove(b->begin() + at, buffer.payload, bytes);
    self().send_block(p, b, buffer.lane, header, bytes);
  }
  void cancel(network_buffer& buffer) final {
    Peer& p = *find(buffer.peer);
    self().give(p, block_of(buffer));
    ++p.room[lane_of(buffer.lane)];
    --p.out;
    touch_if_ending(p);
  }

  started put(std::int32_t rank, remote_place to, local_place from, std::size_t bytes,
              operation* events) final {
    return one_piece(rank, to, from, bytes, events, sort::put);
  }
  started get(std::int32_t rank, local_place to, remote_place from, std::size_t bytes,
              operation* events) final {
    return one_piece(rank, from, to, bytes, events, sort::get);
  }
  started put_pieces(std::int32_t rank, std::span<remote_piece const> to, std::span<local_piece const> from,
                     operation* events) final {
    return pieces(rank, to, from, events, sort::put);
  }
  started get_pieces(std::int32_t rank, std::span<local_piece const> to, std::span<remote_piece const> from,
                     operation* events) final {
    return pieces(rank, from, to, events, sort::get);
  }
  started put_notified(std::int32_t rank, remote_place to, local_place from, std::size_t bytes,
                       std::uint64_t tag, operation* events) final {
    return one_piece(rank, to, from, bytes, events, sort::put, &tag);
  }

  started flush(std::int32_t rank, operation* events) final {
    Peer* p = nullptr;
    if (started const s = self().ready(rank, p); s != started::complete) return s;
    return self().flush_one(*p, events, nullptr);
  }
  started flush_all(operation* events) final {
    auto* const all = new many_flushes{events, 1};
    for (auto const& [rank, p] : peers_) {
      if (p->now == link::connected && !p->lost) static_cast<void>(self().flush_one(*p, nullptr, all));
    }
    if (--all->left != 0) return under_way_for(events);
    outcome const worst = all->worst;
    delete all;
    if (worst == outcome::ok) return started::complete;
    say(events, nullptr, completion::finished, worst);
    return under_way_for(events);
  }

  unsigned poll(receiver& target) final {
    target_ = &target;
    told_ = 0;
    moved_ = 0;
    self().advance();
    if (!is_quiet()) [[unlikely]]
      settle();
    target_ = nullptr;
    return told_ + static_cast<unsigned>(moved_ != 0);
  }
  std::size_t under_way() const final { return live_ + events_.size() + this->unsettled_; }

 protected:
  using link = typename connections::link;
  using sort = typename Record::sort;

  using connections::error_;
  using connections::find;
  using connections::listed_;
  using connections::peers_;
  using connections::self;
  using connections::target_;
  using connections::told_;
  using connections::touch_if_ending;

  /// Puts, gets and atomics to a peer under way.
  static constexpr std::size_t most_memory = 64;

  /// `adapter`: one moves the data; else the processor does.
  module_network(network_config const& config, bool adapter) : connections(config) {
    abilities_.memory_kinds = 1U << static_cast<unsigned>(memory::kind_id::host);
    abilities_.stages_devices = !adapter;
    limits_.put_bytes = limits_.get_bytes = std::size_t{1} << 30;
    limits_.pieces = 16;
    limits_.notification_bits = 64;
    limits_.idle_poll_ns = adapter ? 0 : 300;
    limits_.message_ns = adapter ? 200 : 4000;
  }

  // ---- messages ----

  using block_pointer = decltype(Record::memory);
  static block_pointer block_of(network_buffer const& buffer) {
    return reinterpret_cast<block_pointer>(buffer.transport_words[0]);
  }

  /// complete, with the peer, if send() may send this.
  started may_send(std::int32_t rank, lane where, std::size_t header_size, std::size_t bytes,
                   operation const* events, Peer*& out) {
    if (started const s = self().ready(rank, out); s != started::complete) return s;
    bool const asks = events != nullptr && events->asks(completion::source);
    bool const fits = bytes <= sizes_.late && (asks || bytes <= limits_.inline_bytes);
    if (header_size > sizes_.header || !fits) return too_long();
    return out->room[lane_of(where)] == 0 ? started::no_room : started::complete;
  }
  started too_long() {
    error_ = "the message is too long";
    return started::unsupported;
  }

  // ---- remote memory ----

  static bool usable(Peer const& p, remote_place const& place, std::size_t bytes) {
    Key const* const key = place.key;
    return key != nullptr && key->rank == p.rank && key->generation == p.generation &&
           place.offset <= key->bytes && bytes <= key->bytes - place.offset;
  }

  /// A short put is copied, so that its source is free at once.
  bool is_copied(sort what, std::span<local_piece const> near, std::size_t bytes) const {
    return what == sort::put && bytes <= limits_.inline_bytes &&
           std::all_of(near.begin(), near.end(),
                       [](local_piece const& each) { return Network::on_host(each.place); });
  }

  void flushed_one(many_flushes* all, outcome how) {
    all->worst = std::max(all->worst, how);
    if (--all->left != 0) return;
    say(all->events, nullptr, completion::finished, all->worst);
    delete all;
  }

  // ---- what is told ----

  /// By the next poll. `whom`: the peer whose connection it keeps from being closed before.
  void say(operation* events, Peer* whom, completion what, outcome how) {
    if (events == nullptr || !events->asks(what)) return;
    if (whom != nullptr) ++whom->events;
    events_.push_back({events, whom, what, how});
  }

  /// Nothing waits for the next poll.
  [[nodiscard]] bool is_quiet() const noexcept { return events_.empty() && listed_.empty(); }

 private:
  struct event {
    operation* whose;
    Peer* whom;
    completion what;
    outcome how;
  };

  started one_piece(std::int32_t rank, remote_place far, local_place near, std::size_t bytes,
                    operation* events, sort what, std::uint64_t const* tag = nullptr) {
    remote_piece const there{far, bytes};
    local_piece const here{near, bytes};
    return pieces(rank, {&there, 1}, {&here, 1}, events, what, tag);
  }

  /// `far` and `near` have the same sum, and may be cut differently. `tag`: of a put that its target is to hear of.
  started pieces(std::int32_t rank, std::span<remote_piece const> far, std::span<local_piece const> near,
                 operation* events, sort what, std::uint64_t const* tag = nullptr) {
    Peer* p = nullptr;
    if (started const s = self().ready(rank, p); s != started::complete) {
      bool const no_key = s == started::unreachable && !far.empty() && far[0].place.key != nullptr;
      return no_key ? started::unsupported : s;  // a key of a connection that has ended
    }
    std::size_t const bytes = sum(far);
    std::size_t const most = what == sort::put ? limits_.put_bytes : limits_.get_bytes;
    bool fits = far.size() <= limits_.pieces && near.size() <= limits_.pieces && bytes <= most;
    for (remote_piece const& each : far) fits = fits && usable(*p, each.place, each.bytes);
    if (!fits) {
      error_ = "the bytes are not inside the key's memory, or are too many";
      return started::unsupported;
    }
    if (p->memory_out >= most_memory) return started::no_room;
    return self().transfer(*p, far, near, bytes, events, what, tag);
  }

  /// Tells events, and looks at connections that change.
  void settle() {
    constexpr std::size_t most_events_a_poll = 256;
    for (std::size_t n = most_events_a_poll; n != 0 && !events_.empty(); --n) {
      event const next = events_.front();
      events_.pop_front();
      outcome how = next.how;
      if (next.whom != nullptr) {
        --next.whom->events;
        touch_if_ending(*next.whom);
        // Libraries end what is under way first, and may call that a failure.
        if (next.whom->lost && !next.whom->agreed()) {
          this->tell_lost(*next.whom);
          if (how == outcome::failed) how = outcome::peer_lost;
        }
      }
      ++told_;
      next.whose->on_event(*next.whose, next.what, how);
    }
    this->tend_listed();
  }

 protected:
  transport::abilities abilities_;
  transport::limits limits_;
  message_sizes sizes_;
  std::size_t longest_in_place_ = 0;   ///< on control
  mutable bool keys_are_out_ = false;  ///< of this rank's memory
  std::unordered_set<registration*> registered_;
  std::unordered_set<remote_key*> keys_;

  object_pool<Record> records_;
  std::size_t live_ = 0;  ///< records
  std::deque<event> events_;
  unsigned moved_ = 0;  ///< by this poll, beside what was told
};

}  // namespace atl::transport
