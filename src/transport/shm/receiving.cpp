// What arrives: out of the rings, from senders' arenas and private memories.

#include <cerrno>
#include <cstring>

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

/// A request waits where it is while there is no credit for it; so does an answer that nobody uses yet.
admission admission_for(lane way, bool in_place) {
  return way == lane::control && in_place ? admission::always : admission::if_there_is_credit;
}

}  // namespace

message* endpoint::receive_any(lane way, taking how) {
  lane_state& from = of(way);
  bool const in_place = way == lane::control ? how.control_in_place : how.requests_in_place;
  ring_header header;
  while (cell const* const first = from.inbox.front(header)) {
    outcome const o = take_described(first, header, way, in_place);
    if (o.no_memory && way == lane::request) {
      set_starved(true);
      return nullptr;
    }
    if (o.no_memory) {
      // What stands behind it is never kept waiting.
      deferred_.push_back({header, {}});
      std::memcpy(deferred_.back().first, first, cell_bytes);
    }
    from.inbox.pop(header);
    if (o.arrived != nullptr) return o.arrived;
  }
  return nullptr;
}

message* endpoint::receive_deferred(taking how) {
  deferred_descriptor const& next = deferred_.front();
  outcome const o = take_described(reinterpret_cast<cell const*>(next.first), next.header, lane::control,
                                   how.control_in_place);
  if (!o.no_memory) deferred_.pop_front();
  return o.arrived;
}

endpoint::outcome endpoint::take_described(cell const* first, ring_header const& header, lane way,
                                           bool in_place) {
  switch (static_cast<message_kind>(header.kind)) {
    case message_kind::padding:
      break;
    case message_kind::active:
    case message_kind::request:
    case message_kind::announced:
    case message_kind::reply: {
      message* const m = take_from_ring(first, header, way, in_place);
      return {m, m == nullptr};
    }
    case message_kind::in_arena:
      return take_from_arena(first, header, way, in_place);
    case message_kind::rendezvous:
      return pull(first, header, way, in_place);
    case message_kind::fragment:
      return take_fragment(first, header, way);
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
  m->period = config_.period;
  return m;
}

endpoint::outcome endpoint::take_from_arena(cell const* first, ring_header const& header, lane way,
                                            bool in_place) {
  auto const d = read_descriptor<arena_descriptor>(first);
  std::byte* base = at(header.source, config_.layout.arena_offset + d.buffer);
  storage where = storage::arena;
  // The engine's own messages are used at once.
  if (in_place || d.kind == message_kind::active) {
    held_in_place_.fetch_add(1, std::memory_order_relaxed);
  } else {
    std::byte* const copy = memory_.take_for_arrival(d.bytes, std::size_t{1} << d.alignment_log2,
                                                     admission_for(way, in_place));
    if (copy == nullptr) return {nullptr, true};
    std::memcpy(copy, base, d.bytes);
    arena::hand_back(base);
    base = copy;
    where = storage::privately;
  }
  return {record_of({base, d.bytes, first->token, header.source, d.kind, where})};
}

endpoint::outcome endpoint::pull(cell const* first, ring_header const& header, lane way, bool in_place) {
  auto const d = read_descriptor<rendezvous_descriptor>(first);
  if (header.source == config_.me) return {pull_from_self(d, first->token)};
  bool const at_once = in_place || d.kind == message_kind::active;
  std::byte* const copy = memory_.take_for_arrival(d.bytes, std::size_t{1} << d.alignment_log2,
                                                   admission_for(way, at_once));
  if (copy == nullptr) {
    if (admission_for(way, at_once) == admission::always) {
      fatal("shm", "there is no memory for an answer of %llu bytes from rank %d. Ask for less at a time.",
            static_cast<unsigned long long>(d.bytes), config_.ranks.world_rank(header.source));
    }
    return {nullptr, true};
  }
  peer_process const& peer = config_.peers[header.source];
  if (char const* const failure = read_peer(peer, copy, d.address, d.bytes)) {
    fatal("shm",
          "cannot read a %llu-byte message from the memory of rank %d (process %d): %s. "
          "Set ATOLL_READ_PEERS=0 to send large messages in pieces instead.",
          static_cast<unsigned long long>(d.bytes), config_.ranks.world_rank(header.source), static_cast<int>(peer.pid),
          failure);
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

endpoint::outcome endpoint::take_fragment(cell const* first, ring_header const& header, lane way) {
  auto const d = read_descriptor<fragment_descriptor>(first);
  std::uint64_t const key = std::uint64_t{header.source} << 48 | d.id;
  auto found = assemblies_.find(key);
  if (found == assemblies_.end()) {
    // Each message under way gets its memory, whatever the limit: those begun would else never be complete,
    // since their pieces come behind this one. A peer has one under way to us at a time on each lane.
    bool const first_request = way == lane::request && request_assemblies_ == 0;
    std::byte* const buffer =
        memory_.take_for_arrival(d.total, std::size_t{1} << d.alignment_log2,
                                 first_request ? admission::if_there_is_credit : admission::always);
    if (buffer == nullptr && way == lane::control) {
      fatal("shm", "there is no memory for an answer of %llu bytes from rank %d. Ask for less at a time.",
            static_cast<unsigned long long>(d.total), config_.ranks.world_rank(header.source));
    }
    if (buffer == nullptr) return {nullptr, true};
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
  // What lies in its sender's transit memory takes none of ours.
  if (arrived->where != storage::ring || arrived->charged) return true;
  arrived->charged = true;
  memory_.charge_arrival(arrived->bytes);
  return memory_.admits_arrival(0);
}

void endpoint::return_room(message* arrived) noexcept {
  switch (arrived->where) {
    case storage::ring:
      if (arrived->charged) memory_.discharge_arrival(arrived->bytes);
      break;
    case storage::arena:
      arena::hand_back(arrived->base);
      held_in_place_.fetch_sub(1, std::memory_order_relaxed);
      break;
    case storage::privately:
    case storage::network:
      memory_.give_arrival(arrived->base, arrived->bytes);
      break;
  }
}

}  // namespace atl::shm
