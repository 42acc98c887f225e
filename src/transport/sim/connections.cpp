// Connecting, closing, and the ends that nobody asked for.

#include <algorithm>

#include "transport/sim/sim_network.hpp"

namespace atl::transport::sim {
namespace {

constexpr unsigned most_refusals = 2;  // by chance, one after the other

}  // namespace

peer_record& sim_network::make_peer(std::int32_t rank) {
  std::unique_ptr<peer_record>& record = peers_[static_cast<std::size_t>(rank)];
  record = std::make_unique<peer_record>(wire_.map(), wire_.base(), rank, wire_.map().cells());
  used_peers_.push_back(rank);
  return *record;
}

void sim_network::set_link(peer_record& of, peer_record::link now) {
  auto const changes = [](peer_record::link l) {
    return l != peer_record::link::none && l != peer_record::link::connected;
  };
  if (changes(of.now)) --changing_;
  if (changes(now)) ++changing_;
  stirred_ = true;
  of.now = now;
}

void sim_network::send_plain(peer_record& to, kind what, std::uint64_t token) {
  slot s;
  (void)wire_.open(s, to.way, remote_queue, 0, true);
  wire_.publish(s, to.way, remote_queue, what, token);
}

started sim_network::connect(std::int32_t rank, std::span<std::byte const> peer_address) {
  if (rank < 0 || rank >= ranks_ || (rank == me_ && !how_.loopback)) return started::unreachable;
  if (peer_address.size() != sizeof address_ ||
      word(peer_address.data(), 0) != (address_magic | static_cast<std::uint32_t>(rank))) {
    last_error_ = "these bytes are no address of that rank";
    return started::unsupported;
  }
  peer_record& with = peer_of(rank);
  switch (with.now) {
    case peer_record::link::connected:
      return started::complete;
    case peer_record::link::closing:
    case peer_record::link::lost:
      return started::no_room;
    case peer_record::link::connecting:
      return started::under_way;
    case peer_record::link::none:
      break;
  }
  begin_connection(with);
  set_link(with, peer_record::link::connecting);
  send_plain(with, kind::connect, 0);
  return started::under_way;
}

void sim_network::begin_connection(peer_record& with) {
  ++with.way.connection;
  with.close_wanted = with.close_sent = with.close_seen = false;
  with.sent[0] = with.sent[1] = with.seen[0] = with.seen[1] = 0;
  with.puts_sent = with.puts_seen = with.puts_flushed = 0;
  with.worst = outcome::ok;
  with.misses = 0;
}

void sim_network::become_connected(peer_record& with, std::uint8_t theirs) {
  with.their_connection = theirs;
  with.refusals = 0;
  set_link(with, peer_record::link::connected);
  tell(with, connection_change::connected, "");
  if (with.close_wanted) close(with.way.rank);
}

void sim_network::tell(peer_record& about, connection_change what, char const* words) {
  ++calls_;
  if (what == connection_change::lost || what == connection_change::refused) last_error_ = words;
  receiver_->connection({about.way.rank, what, words});
}

void sim_network::close(std::int32_t rank) {
  if (rank < 0 || rank >= ranks_ || peers_[static_cast<std::size_t>(rank)] == nullptr) return;
  peer_record& with = peer_of(rank);
  if (with.now == peer_record::link::connecting) with.close_wanted = true;
  if (with.now == peer_record::link::connected) set_link(with, peer_record::link::closing);
}

void sim_network::break_connection(std::int32_t rank) {
  breaks_.push_back({rank, true});
  stirred_ = true;
}

void sim_network::give_up(std::int32_t rank) {
  if (rank < 0 || rank >= ranks_ || peers_[static_cast<std::size_t>(rank)] == nullptr) return;
  breaks_.push_back({rank, false});
  stirred_ = true;
}

void sim_network::break_off(peer_record& with, bool tell_peer) {
  if (with.now == peer_record::link::connecting) {
    set_link(with, peer_record::link::none);
    tell(with, connection_change::refused, "the peer was given up");
  }
  if (!with.up()) return;
  if (tell_peer) send_plain(with, kind::lost, 0);
  lose_connection(with, tell_peer ? "the connection was broken" : "the peer was given up");
}

/// False: it has to wait.
bool sim_network::take_connection(peer_record& from, packet const& p) {
  bool const mine = static_cast<std::uint8_t>(p.token) == from.way.connection;
  bool const connecting = from.now == peer_record::link::connecting;
  switch (p.kind) {
    case kind::connect:
      return take_connect(from, p);
    case kind::close:
      return take_close(from, p);
    case kind::accept:
      if (connecting && mine) become_connected(from, p.connection);
      return true;
    case kind::refuse:
      if (connecting && mine) {
        set_link(from, peer_record::link::none);
        tell(from, connection_change::refused, "the peer did not want to");
      }
      return true;
    default:
      if (from.up() && p.connection == from.their_connection) {
        lose_connection(from, "the peer's side of the connection broke");
      }
      return true;
  }
}

bool sim_network::take_connect(peer_record& from, packet const& p) {
  if (from.now == peer_record::link::connected) {
    if (p.connection == from.their_connection) return true;  // both began: it stands
    lose_connection(from, "the peer has begun anew");
  }
  if (from.now == peer_record::link::closing || from.now == peer_record::link::lost) return false;
  if (from.now == peer_record::link::none) {
    if (from.refusals < most_refusals && choices_.chance(how_.connects)) {
      ++from.refusals;
      send_plain(from, kind::refuse, p.connection);
      return true;
    }
    begin_connection(from);
  }
  // Also where this side has begun, too: the peer may have refused that before it began itself.
  send_plain(from, kind::accept, p.connection);
  become_connected(from, p.connection);
  return true;
}

bool sim_network::take_close(peer_record& from, packet const& p) {
  if (p.connection != from.their_connection || !from.up()) {
    return static_cast<std::int8_t>(p.connection - from.their_connection) <= 0;
  }
  // It overtakes what was sent before it in other queues.
  if (from.seen[0] < word(p.body, 0) || from.seen[1] < word(p.body, 1) || from.puts_seen < word(p.body, 2)) {
    return false;
  }
  from.close_seen = true;
  if (from.now == peer_record::link::connected) {
    set_link(from, peer_record::link::closing);
    tell(from, connection_change::closing, "");
  }
  return true;
}

/// Goes on with a connection that is being made or closed.
void sim_network::advance_link(peer_record& with) {
  if (with.now == peer_record::link::lost) {
    if (with.letting_go-- != 0) return;
    lose_operations(with.way.rank);
    end_connection(with, "lost");
    return;
  }
  bool const dead = notices_end_of(with);
  if (with.now == peer_record::link::connecting) {
    if (!dead) return;
    set_link(with, peer_record::link::none);
    wire_.drop_parked(with.way, true);
    tell(with, connection_change::refused, "the peer has ended");
    return;
  }
  bool const drained =
      with.operations == 0 && with.jobs == 0 && with.buffers == 0 && with.way.parked_packets() == 0;
  if (drained && !with.close_sent) {
    with.close_sent = true;
    slot s;
    (void)wire_.open(s, with.way, remote_queue, 24, true);
    write_words(s.body, with.sent[0], with.sent[1], with.puts_sent);
    wire_.publish(s, with.way, remote_queue, kind::close, 0);
  }
  if (drained && with.close_seen && with.close_sent && with.way.parked_packets() == 0) {
    end_connection(with, "agreed");
  } else if (dead) {
    lose_connection(with, "the peer has ended");
  }
}

bool sim_network::notices_end_of(peer_record const& with) const {
  if (how_.losses == loss_notice::none) return false;
  if (how_.losses == loss_notice::by_traffic && with.now == peer_record::link::connected &&
      with.operations == 0 && with.jobs == 0 && with.way.parked_packets() == 0)
    return false;
  // Acquire: what it sent before is in the queues. That comes first, an agreed end among it.
  if (with.way.page->state.load(std::memory_order_acquire) != gone) return false;
  bool const all_taken = rings_[0]->empty() && rings_[1]->empty() && rings_[2]->empty();
  return all_taken && std::none_of(held_.begin(), held_.end(),
                                   [&](auto const& h) { return h != nullptr && h->source == with.way.rank; });
}

/// Starts end here; what is under way keeps its memory a little longer.
void sim_network::lose_connection(peer_record& with, char const* words) {
  // A packet that says so may be parked: it stays, unless nobody will read it.
  wire_.drop_parked(with.way, with.way.page->state.load(std::memory_order_relaxed) == gone);
  with.way.departures.clear();
  std::erase_if(atomics_, [&](slow_atomic const& a) { return a.source == with.way.rank; });
  set_link(with, peer_record::link::lost);
  with.letting_go = choices_.chance(how_.completions) ? some_polls() : 0;
  tell(with, connection_change::lost, words);
}

void sim_network::end_connection(peer_record& with, char const* words) {
  std::int32_t const rank = with.way.rank;
  drop_held(rank);
  std::erase_if(parts_,
                [&](auto const& entry) { return static_cast<std::int32_t>(entry.first >> 32) == rank; });
  ++with.connections;
  with.close_wanted = false;
  set_link(with, peer_record::link::none);
  tell(with, connection_change::closed, words);
}

}  // namespace atl::transport::sim
