#pragma once

/// The sending side of the queues: room in a peer's ring, packets of a peer's for data, and what is parked
/// because there is none. Knows nothing of what packets mean.

#include <array>
#include <deque>
#include <memory>
#include <vector>

#include "base/clock.hpp"
#include "transport/sim/layout.hpp"
#include "transport/sim/packets.hpp"

namespace atl::transport::sim {

/// Reproducible choices.
class choices {
 public:
  explicit choices(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next() {
    state_ += 0x9e3779b97f4a7c15U;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31);
  }
  std::uint64_t below(std::uint64_t bound) { return next() % bound; }
  /// True with that chance; draws nothing for zero.
  bool chance(unsigned percent) { return percent != 0 && below(100) < percent; }

 private:
  std::uint64_t state_;
};

/// The ways to one peer.
struct route {
  route(layout const& map, std::byte* base, std::int32_t rank, std::uint64_t cells);

  std::int32_t rank;
  rank_page* page;
  std::uint8_t connection = 0;  ///< of this side: goes with every packet
  std::array<shm::ring_producer, queues> rings;
  std::array<std::deque<parked_packet>, queues> parked;
  /// The last connection of this side of which the peer can know: the first packet about it has left.
  std::uint8_t introduced = 0;
  /// Operations whose packets have left. Readers let those wait that come before the connection's introduction.
  std::vector<std::uint32_t> departures;

  std::size_t parked_packets() const { return parked[0].size() + parked[1].size() + parked[2].size(); }
};

/// A packet that is being written. One of ring and private memory.
struct slot {
  std::byte* body = nullptr;
  std::size_t bytes = 0;  ///< of the body
  std::uint64_t position = 0;
  std::uint8_t cells = 0;
  std::unique_ptr<std::byte[]> kept;
};

class wire {
 public:
  wire(options const& how, std::byte* base, std::int32_t me)
      : how_(how), map_(how), base_(base), me_(me), timed_(how.timed()) {}

  layout const& map() const { return map_; }
  std::byte* base() const { return base_; }
  /// Longest body.
  std::size_t room() const { return cells_room - stamp_bytes(); }
  std::size_t stamp_bytes() const { return timed_ ? 8 : 0; }

  /// Room for a packet. Empty ring or not, what comes behind parked packets is parked, too; `must`: parked if
  /// there is no room.
  bool open(slot& s, route& to, unsigned which, std::size_t body_bytes, bool must) {
    if (to.parked[which].empty() && !hold_back_) [[likely]] {
      if (open_ring(s, to, which, body_bytes)) return true;
    }
    return must && open_parked(s, body_bytes);
  }

  /// Sends it; `moved` bytes elsewhere travel along.
  void publish(slot& s, route& to, unsigned which, kind what, std::uint64_t token, std::size_t moved = 0) {
    if (s.kept) [[unlikely]] {
      to.parked[which].push_back(
          {what, to.connection, token, s.bytes, moved, std::move(s.kept), no_operation});
      ++parked_;
      return;
    }
    publish_ring(s, to, which, what, to.connection, token, moved);
  }
  /// The same in three steps, in the ring or not at all: a body that is written in between. Null: there is no room.
  std::byte* reserve(route& to, unsigned which, std::size_t body_bytes, std::uint64_t& position) {
    if (!to.parked[which].empty() || hold_back_) [[unlikely]]
      return nullptr;
    position = to.rings[which].reserve(cells_for(body_bytes));
    return position != shm::ring_producer::no_room ? body_at(to, which, position) : nullptr;
  }
  std::byte* body_at(route& to, unsigned which, std::uint64_t position) const {
    return to.rings[which].at(position)->data + stamp_bytes();
  }
  /// A packet whose body is at most as long as one cell has room for, all at once; `write` writes that. False: there is no room
  /// now, or packets do not just go into the ring.
  template <class Write>
  [[gnu::always_inline]] bool send_in_cell(route& to, unsigned which, kind what, std::uint64_t token,
                                           std::size_t body_bytes, Write const& write) {
    if (timed_ || hold_back_ || parked_ != 0) [[unlikely]]
      return false;
    shm::ring_producer& ring = to.rings[which];
    std::uint64_t const position = ring.reserve(1);
    if (position == shm::ring_producer::no_room) [[unlikely]]
      return false;
    shm::cell* const first = ring.at(position);
    write(first->data);
    publish_body(to, which, position, first->data, body_bytes, body_bytes, what, token);
    return true;
  }
  /// `reserved` bytes were asked for, of which `body_bytes` are used.
  void publish(route& to, unsigned which, std::uint64_t position, std::size_t reserved,
               std::size_t body_bytes, kind what, std::uint64_t token) {
    if (timed_) stamp(body_at(to, which, position), body_bytes);
    publish_cells(to, which, position, cells_for(reserved), body_bytes, what, to.connection, token);
  }
  /// The same with the body at hand, which no time precedes.
  void publish_body(route& to, unsigned which, std::uint64_t position, std::byte* body, std::size_t reserved,
                    std::size_t body_bytes, kind what, std::uint64_t token) {
    auto* const first = reinterpret_cast<shm::cell*>(body - offsetof(shm::cell, data));
    first->token = token;
    to.rings[which].publish(first, position,
                            {static_cast<std::uint16_t>(16 + body_bytes), static_cast<std::uint16_t>(me_),
                             static_cast<std::uint8_t>(what),
                             static_cast<std::uint8_t>((16 + reserved + 63) / 64), to.connection});
    atl::wake(to.page->bell);
  }
  bool timed() const { return timed_; }
  void cancel(route& to, unsigned which, std::uint64_t position, std::size_t reserved) {
    to.rings[which].publish(position,
                            {16, 0, static_cast<std::uint8_t>(kind::padding), cells_for(reserved), 0});
  }

  /// A packet of the peer's for data, or -1.
  int take_packet(route& to, unsigned which) {
    std::atomic<std::uint64_t>& taken = to.page->packets[which].taken;
    std::uint64_t seen = taken.load(std::memory_order_relaxed);
    for (;;) {
      int const index = std::countr_one(seen);
      if (static_cast<unsigned>(index) >= how_.packets) return -1;
      // Acquire: pairs with give_back(): what its last reader did there comes before what is written now.
      if (taken.compare_exchange_weak(seen, seen | std::uint64_t{1} << index, std::memory_order_acquire,
                                      std::memory_order_relaxed)) {
        return index;
      }
    }
  }
  /// A packet of rank `owner`, which its reader, or a sender that did not need it, gives back.
  void give_back(std::int32_t owner, unsigned which, unsigned index) {
    map_.page_of(base_, owner)
        ->packets[which]
        .taken.fetch_and(~(std::uint64_t{1} << index), std::memory_order_release);
  }
  std::byte* packet_at(std::int32_t owner, unsigned which, unsigned index) const {
    return map_.packet(base_, owner, which, index);
  }

  /// While true, packets are parked until push_parked().
  void hold_back(bool yes) { hold_back_ = yes; }
  std::size_t parked() const { return parked_; }
  /// `operation` waits for the packet that was published last to leave. False: it has, and its reader can use it.
  static bool await(route& to, unsigned which, std::uint32_t operation) {
    if (!to.parked[which].empty()) {
      to.parked[which].back().operation = operation;
    } else if (to.introduced != to.connection) {
      to.departures.push_back(operation);
    } else {
      return false;
    }
    return true;
  }
  /// Sends parked packets as far as there is room; true if any left.
  bool push_parked(route& to);
  /// Forgets them, and gives back the packets that they name; all, or all but those about the connection.
  void drop_parked(route& to, bool all);
  /// Wakes a peer.
  void wake(std::int32_t rank) { atl::wake(map_.page_of(base_, rank)->bell); }

 private:
  std::uint8_t cells_for(std::size_t body_bytes) const {
    return static_cast<std::uint8_t>((16 + stamp_bytes() + body_bytes + shm::cell_bytes - 1) /
                                     shm::cell_bytes);
  }
  void publish_ring(slot& s, route& to, unsigned which, kind what, std::uint8_t connection,
                    std::uint64_t token, std::size_t moved) {
    if (timed_) stamp(s.body, s.bytes + moved);
    if (of_connection(what)) to.introduced = connection;
    publish_cells(to, which, s.position, s.cells, s.bytes, what, connection, token);
  }
  void publish_cells(route& to, unsigned which, std::uint64_t position, std::uint8_t cells,
                     std::size_t body_bytes, kind what, std::uint8_t connection, std::uint64_t token) {
    shm::cell* const first = to.rings[which].at(position);
    first->token = token;
    to.rings[which].publish(
        first, position,
        {static_cast<std::uint16_t>(16 + stamp_bytes() + body_bytes), static_cast<std::uint16_t>(me_),
         static_cast<std::uint8_t>(what), cells, connection});
    atl::wake(to.page->bell);
  }
  bool open_ring(slot& s, route& to, unsigned which, std::size_t body_bytes) {
    std::uint64_t const position = to.rings[which].reserve(cells_for(body_bytes));
    if (position == shm::ring_producer::no_room) return false;
    s.position = position;
    s.cells = cells_for(body_bytes);
    s.body = body_at(to, which, position);
    s.bytes = body_bytes;
    return true;
  }
  bool open_parked(slot& s, std::size_t body_bytes);
  void stamp(std::byte* body, std::size_t moved);

  options how_;
  layout map_;
  std::byte* base_;
  std::int32_t me_;
  bool timed_;
  bool hold_back_ = false;
  std::size_t parked_ = 0;
  std::uint64_t free_at_ = 0;  ///< time at which this rank's link has sent all before
};

}  // namespace atl::transport::sim
