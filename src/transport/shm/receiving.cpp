// What arrives: out of the rings, from senders' arenas and private memories.

#include <cerrno>
#include <cstring>

#include <atoll/transport/growing.hpp>

#include "base/error.hpp"
#include "transport/shm/endpoint.hpp"

namespace atl::shm {

using transport::admission;

namespace {

template <class Descriptor>
Descriptor read_descriptor(cell const* first) {
  Descriptor d;
  std::memcpy(&d, first->data, sizeof d);
  return d;
}

void await_all(std::byte const* base, std::size_t bytes) noexcept {
  for (std::size_t written = 0; written < bytes;) written = transport::await_written(base, written);
}

}  // namespace

void endpoint::no_memory_at_all(std::uint64_t bytes, std::uint32_t source) const {
  fatal(
      "messages",
      "the system has no memory for a message of %llu bytes from rank %d. Give the ranks more memory, or send less "
      "at a time.",
      static_cast<unsigned long long>(bytes), config_.ranks.world_rank(source));
}

message* endpoint::receive_any(lane way, taking how) {
  lane_state& from = of(way);
  ring_header header;
  while (cell const* const first = from.inbox.front(header)) {
    outcome const o = take_described(first, header, way, how);
    if (o.no_memory && way == lane::request) {
      set_starved(true);
      return nullptr;
    }
    if (o.no_memory) {
      // What stands behind it is never kept waiting.
      deferred_.push_back({header, {}});
      busy_.fetch_add(1, std::memory_order_relaxed);
      std::memcpy(deferred_.back().first, first, cell_bytes);
    }
    from.inbox.pop(header);
    if (o.arrived != nullptr) return o.arrived;
  }
  return nullptr;
}

message* endpoint::receive_deferred(taking how) {
  deferred_descriptor const& next = deferred_.front();
  outcome const o =
      take_described(reinterpret_cast<cell const*>(next.first), next.header, lane::control, how);
  if (!o.no_memory) {
    deferred_.pop_front();
    busy_.fetch_sub(1, std::memory_order_relaxed);
  }
  return o.arrived;
}

endpoint::outcome endpoint::take_described(cell const* first, ring_header const& header, lane way,
                                           taking how) {
  switch (static_cast<message_kind>(header.kind)) {
    case message_kind::padding:
      break;
    case message_kind::active:
    case message_kind::request:
    case message_kind::announced:
    case message_kind::reply: {
      message* const m = take_from_ring(first, header, way, how);
      return {m, m == nullptr};
    }
    case message_kind::in_arena:
      return take_from_arena(first, header, way, how);
    case message_kind::rendezvous:
      return pull(first, header, way, how);
    case message_kind::fragment:
      return take_fragment(first, header, way, how);
  }
  return {};
}

message* endpoint::record_of(arrival const& a) const {
  message* const m = transport::take_message(0);
  m->base = a.base;
  m->bytes = a.bytes;
  m->token = a.token;
  m->source = config_.ranks.world_rank(a.source);
  m->kind = a.kind;
  m->where = a.where;
  m->growing = a.growing;
  m->period = config_.period;
  return m;
}

endpoint::outcome endpoint::take_from_arena(cell const* first, ring_header const& header, lane way,
                                            taking how) {
  auto const d = read_descriptor<arena_descriptor>(first);
  std::byte* base = at(header.source, config_.layout.arena_offset + d.buffer);
  storage where = storage::arena;
  // The engine's own messages are used at once.
  if (how.in_place(way) || d.kind == message_kind::active) {
    held_in_place_.fetch_add(1, std::memory_order_relaxed);
  } else {
    std::byte* const copy =
        memory_.take_for_arrival(d.bytes, std::size_t{1} << d.alignment_log2, how.admission(way));
    if (copy == nullptr) return {nullptr, true};
    if (d.growing) await_all(base, d.bytes);
    std::memcpy(copy, base, d.bytes);
    arena::hand_back(base);
    base = copy;
    where = storage::privately;
  }
  return {record_of(
      {base, d.bytes, first->token, header.source, d.kind, where, d.growing && where == storage::arena})};
}

endpoint::outcome endpoint::pull(cell const* first, ring_header const& header, lane way, taking how) {
  auto const d = read_descriptor<rendezvous_descriptor>(first);
  if (header.source == config_.me) return {pull_from_self(d, first->token)};
  admission const admitted = d.kind == message_kind::active ? admission::always : how.admission(way);
  std::byte* const copy = memory_.take_for_arrival(d.bytes, std::size_t{1} << d.alignment_log2, admitted);
  if (copy == nullptr) {
    if (admitted == admission::always) no_memory_at_all(d.bytes, header.source);
    return {nullptr, true};
  }
  peer_process const& peer = config_.peers[header.source];
  if (char const* const failure = read_peer(peer, copy, d.address, d.bytes)) {
    fatal("shm",
          "cannot read a %llu-byte message from the memory of rank %d (process %d): %s. "
          "Set ATOLL_READ_PEERS=0 to send large messages in pieces instead.",
          static_cast<unsigned long long>(d.bytes), config_.ranks.world_rank(header.source),
          static_cast<int>(peer.pid), failure);
  }
  // Pairs with the acquire in notice_read().
  flags_of(header.source).unread[d.slot].store(0, std::memory_order_release);
  return {record_of({copy, d.bytes, first->token, header.source, d.kind, storage::privately})};
}

/// A message to this rank itself: the buffer changes hands, no byte moves.
message* endpoint::pull_from_self(rendezvous_descriptor const& descriptor, std::uint64_t token) {
  parked_message* const item = being_read_[descriptor.slot];
  message* const m =
      record_of({item->buffer, descriptor.bytes, token, config_.me, descriptor.kind, storage::privately});
  charge_queue(*item, -1);
  memory_.hand_over(descriptor.bytes);
  being_read_[descriptor.slot] = nullptr;
  --being_read_count_;
  busy_.fetch_sub(1, std::memory_order_relaxed);
  delete item;
  return m;
}

endpoint::outcome endpoint::take_fragment(cell const* first, ring_header const& header, lane way,
                                          taking how) {
  auto const d = read_descriptor<fragment_descriptor>(first);
  std::uint64_t const key = std::uint64_t{header.source} << 48 | d.id;
  auto found = assemblies_.find(key);
  if (found == assemblies_.end()) {
    // Each message under way gets its memory, whatever the limit: those begun would else never be complete,
    // since their pieces come behind this one. A peer has one under way to us at a time on each lane.
    bool const first_request = way == lane::request && request_assemblies_ == 0;
    admission const admitted = first_request ? how.admission(way) : admission::always;
    std::byte* const buffer = memory_.take_for_arrival(d.total, std::size_t{1} << d.alignment_log2, admitted);
    if (buffer == nullptr) {
      if (admitted == admission::always) no_memory_at_all(d.total, header.source);
      return {nullptr, true};
    }
    found = assemblies_.emplace(key, assembly{buffer, 0}).first;
    request_assemblies_ += way == lane::request ? 1 : 0;
  }
  std::byte* const piece = at(header.source, config_.layout.arena_offset + d.buffer);
  std::memcpy(found->second.buffer + d.offset, piece, d.bytes);
  arena::hand_back(piece);
  found->second.arrived += d.bytes;
  if (found->second.arrived < d.total) return {};
  message* const m =
      record_of({found->second.buffer, d.total, first->token, header.source, d.kind, storage::privately});
  assemblies_.erase(found);
  request_assemblies_ -= way == lane::request ? 1 : 0;
  return {m};
}

bool endpoint::charge(message* arrived) noexcept {
  // What lies in its sender's transit memory takes none of ours, and what lies in private memory is counted.
  if (arrived->where == storage::ring && !arrived->charged) {
    arrived->charged = true;
    memory_.charge_arrival(arrived->bytes);
  }
  return memory_.admits_arrival(0);
}

void endpoint::return_room(message* arrived) noexcept {
  switch (arrived->where) {
    case storage::ring:
      if (arrived->charged) memory_.discharge_arrival(arrived->bytes);
      break;
    case storage::arena:
      // Also of a payload that nobody has read: its sender would write into somebody else's.
      if (arrived->growing) await_all(arrived->base, arrived->bytes);
      arena::hand_back(arrived->base);
      held_in_place_.fetch_sub(1, std::memory_order_relaxed);
      break;
    case storage::privately:
      memory_.give_arrival(arrived->base, arrived->bytes);
      break;
    case storage::network:
    case storage::in_network:
      break;  // outgoing messages only
  }
}

}  // namespace atl::shm
