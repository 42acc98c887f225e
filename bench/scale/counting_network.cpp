#include "scale/counting_network.hpp"

#include <cstring>
#include <new>
#include <utility>

namespace atl::scale {

using transport::connection_change;

namespace {

/// Larger ones than the engine sends in one piece.
constexpr std::size_t longest_message = std::size_t{1} << 20;
constexpr std::size_t longest_in_place = 8192;

packet* packet_of(transport::network_buffer const& buffer) {
  return reinterpret_cast<packet*>(static_cast<std::uintptr_t>(buffer.transport_words[0]));
}

}  // namespace

packet* packet::make(std::int32_t from, kind what, std::size_t payload_room) {
  void* const memory = std::malloc(sizeof(packet) + room_for_header + payload_room);
  if (memory == nullptr) throw std::bad_alloc();
  return ::new (memory) packet{from, what, transport::lane::control, 0, 0};
}

counting_network::counting_network(carrier& by, std::int32_t rank, std::size_t connections, bool dear)
    : by_(by), rank_(rank) {
  abilities_.ordered_messages = true;
  limits_.inline_bytes = longest_message;
  limits_.connections = connections;
  if (dear) limits_.message_ns = 4000;  // as over TCP
}

transport::message_sizes counting_network::sizes(std::int32_t, transport::lane) const {
  return {packet::room_for_header, longest_message, longest_in_place, longest_message};
}

// ---- connections: both sides may begin, and either may end

void counting_network::tell(std::int32_t peer, packet::kind what) {
  by_.carry(peer, packet::make(rank_, what, 0));
}

void counting_network::stands(std::int32_t peer) {
  links_[peer] = link::up;
  ++made_;
  if (++standing_ > most_standing_) most_standing_ = standing_;
}

void counting_network::ends(std::int32_t peer) {
  links_.erase(peer);
  --standing_;
}

started counting_network::connect(std::int32_t peer, std::span<std::byte const>) {
  auto const found = links_.find(peer);
  if (found != links_.end()) return found->second == link::up ? started::complete : started::no_room;
  links_.emplace(peer, link::connecting);
  tell(peer, packet::kind::connect);
  return started::under_way;
}

void counting_network::close(std::int32_t peer) {
  auto const found = links_.find(peer);
  if (found == links_.end() || found->second != link::up) return;
  found->second = link::closing;
  tell(peer, packet::kind::close);
}

void counting_network::take(packet& p, transport::receiver& target) {
  auto const found = links_.find(p.from);
  auto const say = [&](connection_change what) { target.connection({p.from, what, {}}); };
  switch (p.what) {
    case packet::kind::message: {
      transport::arrival a;
      a.peer = p.from;
      a.lane = p.lane;
      a.header = {p.header(), p.header_bytes};
      a.payload = p.payload();
      a.bytes = p.payload_bytes;
      static_cast<void>(target.arrived(a));
      break;
    }
    case packet::kind::connect:
      // Where both have begun, each takes the other's question for an answer.
      if (found == links_.end()) tell(p.from, packet::kind::accept);
      stands(p.from);
      say(connection_change::connected);
      break;
    case packet::kind::accept:
      stands(p.from);
      say(connection_change::connected);
      break;
    case packet::kind::close:
      if (found->second == link::up) {
        say(connection_change::closing);
        tell(p.from, packet::kind::closed);
      }
      ends(p.from);
      say(connection_change::closed);
      break;
    case packet::kind::closed:
      ends(p.from);
      say(connection_change::closed);
      break;
  }
}

// ---- messages

started counting_network::begin(std::int32_t peer, transport::lane where, std::size_t, std::size_t,
                                std::size_t most, transport::network_buffer& buffer) {
  auto const found = links_.find(peer);
  if (found == links_.end()) return started::unreachable;
  if (found->second != link::up) return started::no_room;
  packet* const p = packet::make(rank_, packet::kind::message, most);
  p->lane = where;
  buffer.payload = p->payload();
  buffer.capacity = most;
  buffer.peer = peer;
  buffer.lane = where;
  buffer.transport_words[0] = reinterpret_cast<std::uintptr_t>(p);
  return started::complete;
}

void counting_network::commit(transport::network_buffer& buffer, std::span<std::byte const> header,
                              std::size_t bytes) {
  packet* const p = packet_of(buffer);
  std::memcpy(p->header(), header.data(), header.size());
  p->header_bytes = static_cast<std::uint16_t>(header.size());
  p->payload_bytes = static_cast<std::uint32_t>(bytes);
  by_.carry(buffer.peer, p);
}

void counting_network::cancel(transport::network_buffer& buffer) { packet_of(buffer)->drop(); }

started counting_network::send(std::int32_t peer, transport::lane where, std::span<std::byte const> header,
                               transport::local_place payload, std::size_t bytes, transport::operation*) {
  transport::network_buffer buffer;
  started const s = begin(peer, where, header.size(), bytes, bytes, buffer);
  if (s != started::complete) return s;
  if (bytes != 0) std::memcpy(buffer.payload, payload.address, bytes);
  commit(buffer, header, bytes);
  return started::complete;
}

unsigned counting_network::poll(transport::receiver& target) {
  packet* const p = std::exchange(arriving_, nullptr);
  if (p == nullptr) return 0;
  take(*p, target);
  p->drop();
  return 1;
}

}  // namespace atl::scale
