#include "transport/shm/endpoint.hpp"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "base/error.hpp"

namespace atl::shm {

using transport::header_bytes;

namespace {

constexpr std::size_t spill_bound = std::size_t{256} << 20;
/// Pieces of a fragmented message that fit their part of the arena: one is read while the next is written.
constexpr std::size_t pieces_at_once = 4;

std::uint8_t cells_for(std::size_t bytes) {
  return static_cast<std::uint8_t>((bytes + cell_bytes - 1) / cell_bytes);
}

std::byte* begin_of(cell* first) { return reinterpret_cast<std::byte*>(first); }

ring_counters* counters_of(endpoint_config const& config, std::uint32_t local_rank) {
  return reinterpret_cast<ring_counters*>(config.base + local_rank * config.stride +
                                          config.layout.counters_offset);
}

cell* cells_of(endpoint_config const& config, std::uint32_t local_rank) {
  return reinterpret_cast<cell*>(config.base + local_rank * config.stride + config.layout.ring_offset);
}

template <class Descriptor>
Descriptor read_descriptor(cell const* first) {
  Descriptor d;
  std::memcpy(&d, first->data, sizeof d);
  return d;
}

}  // namespace

endpoint::endpoint(endpoint_config config)
    : inbox_(counters_of(config, config.me), cells_of(config, config.me), config.layout.ring_cells),
      config_(std::move(config)),
      arena_(*config_.transit),
      parked_(config_.count) {
  if (!config_.read_peers) {
    fragments_bytes_ = arena_.bytes() / 4 & ~std::size_t{63};
    fragments_begin_ = arena_.reserve(fragments_bytes_);
    fragments_.emplace(arena_.address(fragments_begin_), fragments_bytes_);
  }
  arena_largest_ = (arena_.bytes() - fragments_bytes_) / 4 * 3;
  outboxes_.reserve(config_.count);
  for (std::uint32_t peer = 0; peer < config_.count; ++peer) {
    outboxes_.emplace_back(counters_of(config_, peer), cells_of(config_, peer), config_.layout.ring_cells);
  }
}

endpoint::~endpoint() {
  for (auto& queue : parked_) {
    for (parked& item : queue) forget(item);
  }
  for (auto& [id, item] : awaiting_pull_) forget(item);
  for (auto& [id, part] : assemblies_) std::free(part.buffer);
  if (fragments_) arena_.unreserve(fragments_begin_);
}

// ---- private memory ------------------------------------------------------------------------------

std::byte* endpoint::take_unlimited(std::size_t bytes, std::size_t alignment) {
  std::byte* const buffer = buffers_.take(bytes, alignment);
  if (buffer != nullptr) private_used_.fetch_add(bytes, std::memory_order_relaxed);
  return buffer;
}

std::byte* endpoint::take_private(std::size_t bytes, std::size_t alignment) {
  std::size_t const used = private_used_.load(std::memory_order_relaxed);
  return used + bytes > config_.private_limit ? nullptr : take_unlimited(bytes, alignment);
}

std::byte* endpoint::take_for_arrival(std::size_t bytes, std::size_t alignment) {
  std::byte* const buffer = admits(bytes) ? take_unlimited(bytes, alignment) : nullptr;
  if (buffer == nullptr) set_starved(true);
  return buffer;
}

void endpoint::give_private(std::byte* buffer, std::size_t bytes) noexcept {
  buffers_.give(buffer, bytes);
  private_used_.fetch_sub(bytes, std::memory_order_relaxed);
}

// ---- sending -------------------------------------------------------------------------------------

status endpoint::begin(outgoing& out, std::size_t bytes, std::size_t alignment, spill allowed) {
  if (begin_in_ring(out, bytes, alignment)) [[likely]]
    return status::ok;
  out.alignment_log2 = static_cast<std::uint8_t>(std::countr_zero(alignment));
  bool const fits_ring = bytes <= eager_bytes() && alignment <= cell_bytes;
  if (!fits_ring && bytes <= arena_largest_) {
    std::uint64_t const buffer = arena_.take(bytes, alignment);
    if (buffer != arena::npos) {
      out.where = storage::arena;
      out.position = buffer;
      out.begin = arena_.address(buffer);
      out.capacity = bytes;
      return status::ok;
    }
  }
  // No room. A payload larger than the arena can only leave from private memory, but not without bound.
  bool const oversized = bytes > arena_largest_;
  if (allowed == spill::never && !oversized) return status::no_room;
  if (allowed != spill::always && spilled_ != 0 && spilled_ + bytes > spill_bound) return status::no_room;
  std::byte* const buffer = take_private(bytes, alignment);
  if (buffer == nullptr) return status::no_memory;
  spilled_ += bytes;
  out.where = storage::privately;
  out.begin = buffer;
  out.capacity = bytes;
  return status::ok;
}

void endpoint::commit(outgoing& out, message_kind kind, std::uint64_t token, std::size_t bytes) {
  std::uint32_t const target = local(out.target);
  switch (out.where) {
    case storage::ring:
      commit_in_ring(out, kind, token, bytes);
      return;
    case storage::arena: {
      arena_descriptor const d{out.position, bytes, kind, out.alignment_log2};
      send_descriptor(target, message_kind::in_arena, token, &d, sizeof d);
      return;
    }
    case storage::privately: {
      parked item{};
      item.kind = kind;
      item.token = token;
      item.buffer = out.begin;
      item.bytes = out.capacity;  // what was charged
      item.alignment_log2 = out.alignment_log2;
      // Only the used part travels; the rest of the buffer stays charged until it is freed.
      if (bytes < out.capacity) {
        private_used_.fetch_sub(out.capacity - bytes, std::memory_order_relaxed);
        spilled_ -= out.capacity - bytes;
        item.bytes = bytes;
      }
      park(target, item);
      flush();
      return;
    }
  }
}

void endpoint::cancel(outgoing& out) noexcept {
  switch (out.where) {
    case storage::ring:
      outboxes_[local(out.target)].publish(
          out.position, {16, 0, static_cast<std::uint8_t>(message_kind::padding), out.cells, 6});
      return;
    case storage::arena:
      arena::hand_back(out.begin);
      return;
    case storage::privately:
      spilled_ -= out.capacity;
      give_private(out.begin, out.capacity);
      return;
  }
}

bool endpoint::put_in_ring(std::uint32_t target, message_kind kind, std::uint64_t token, void const* payload,
                           std::size_t payload_bytes, std::uint8_t alignment_log2) {
  std::size_t const bytes = header_bytes + payload_bytes;
  std::uint8_t const cells = cells_for(bytes);
  auto const position = outboxes_[target].reserve(cells);
  if (!position) return false;
  cell* const first = outboxes_[target].at(*position);
  std::memcpy(begin_of(first) + header_bytes, payload, payload_bytes);
  first->token = token;
  outboxes_[target].publish(*position,
                            {static_cast<std::uint16_t>(bytes), static_cast<std::uint16_t>(config_.me),
                             static_cast<std::uint8_t>(kind), cells, alignment_log2});
  wake(target);
  return true;
}

void endpoint::send_descriptor(std::uint32_t target, message_kind kind, std::uint64_t token,
                               void const* payload, std::size_t payload_bytes) {
  if (put_in_ring(target, kind, token, payload, payload_bytes, 6)) return;
  parked item{};
  item.kind = kind;
  item.token = token;
  item.descriptor_bytes = static_cast<std::uint8_t>(payload_bytes);
  std::memcpy(item.descriptor, payload, payload_bytes);
  park(target, item);
}

void endpoint::park(std::uint32_t target, parked item) {
  parked_[target].push_back(item);
  ++parked_count_;
  unsent_.fetch_add(1, std::memory_order_relaxed);
}

void endpoint::forget(parked& item) {
  if (item.buffer == nullptr) return;
  spilled_ -= item.bytes;
  give_private(item.buffer, item.bytes);
  item.buffer = nullptr;
}

bool endpoint::flush() {
  if (parked_count_ == 0) return false;
  bool moved = false;
  for (std::uint32_t target = 0; target < config_.count; ++target) {
    auto& queue = parked_[target];
    while (!queue.empty()) {
      parked& item = queue.front();
      std::uint64_t const sent = item.sent;
      if (!send_parked(target, item)) {
        moved |= item.sent != sent;
        break;
      }
      queue.pop_front();
      --parked_count_;
      unsent_.fetch_sub(1, std::memory_order_relaxed);
      moved = true;
    }
  }
  return moved;
}

bool endpoint::send_parked(std::uint32_t target, parked& item) {
  if (item.buffer == nullptr) {
    return put_in_ring(target, item.kind, item.token, item.descriptor, item.descriptor_bytes, 6);
  }
  if (item.by_fragments) return send_fragments(target, item);
  std::size_t const alignment = std::size_t{1} << item.alignment_log2;
  if (item.bytes <= eager_bytes() && alignment <= cell_bytes) {
    if (!put_in_ring(target, item.kind, item.token, item.buffer + header_bytes, item.bytes - header_bytes,
                     item.alignment_log2)) {
      return false;
    }
    forget(item);
    return true;
  }
  if (item.bytes <= arena_largest_) {
    std::uint64_t const buffer = arena_.take(item.bytes, alignment);
    if (buffer != arena::npos) {
      std::memcpy(arena_.address(buffer) + header_bytes, item.buffer + header_bytes,
                  item.bytes - header_bytes);
      arena_descriptor const d{buffer, item.bytes, item.kind, item.alignment_log2};
      if (!put_in_ring(target, message_kind::in_arena, item.token, &d, sizeof d, 6)) {
        arena::hand_back(arena_.address(buffer));
        return false;
      }
      forget(item);
      return true;
    }
  }
  item.id = next_id_++;
  if (!config_.read_peers && target != config_.me) {
    item.by_fragments = true;
    return send_fragments(target, item);
  }
  rendezvous_descriptor const d{reinterpret_cast<std::uintptr_t>(item.buffer), item.bytes, item.id, item.kind,
                                item.alignment_log2};
  if (!put_in_ring(target, message_kind::rendezvous, item.token, &d, sizeof d, 6)) return false;
  awaiting_pull_.emplace(item.id, item);
  unsent_.fetch_add(1, std::memory_order_relaxed);
  return true;
}

bool endpoint::send_fragments(std::uint32_t target, parked& item) {
  std::size_t const largest = fragments_bytes_ / pieces_at_once - block_flag_bytes;
  while (item.sent < item.bytes) {
    std::size_t const piece = std::min<std::size_t>(item.bytes - item.sent, largest);
    std::uint64_t const buffer = fragments_->take(piece, 64);
    if (buffer == arena::npos) return false;
    std::memcpy(fragments_->address(buffer), item.buffer + item.sent, piece);
    fragment_descriptor const d{fragments_begin_ + buffer, item.sent, piece, item.bytes, item.id, item.kind,
                                item.alignment_log2};
    if (!put_in_ring(target, message_kind::fragment, item.token, &d, sizeof d, 6)) {
      arena::hand_back(fragments_->address(buffer));
      return false;
    }
    item.sent += piece;
  }
  forget(item);
  return true;
}

// ---- receiving -----------------------------------------------------------------------------------

message* endpoint::receive_any(bool in_place) {
  ring_header header;
  while (cell const* const first = inbox_.front(header)) {
    message* arrived = nullptr;
    switch (static_cast<message_kind>(header.kind)) {
      case message_kind::padding:
        break;
      case message_kind::active:
      case message_kind::request:
      case message_kind::announced:
      case message_kind::reply:
        arrived = take_from_ring(first, header, in_place);
        break;
      case message_kind::in_arena:
        arrived = take_from_arena(first, header, in_place);
        break;
      case message_kind::rendezvous:
        arrived = pull(first, header);
        break;
      case message_kind::fragment:
        arrived = take_fragment(first, header);
        break;
      case message_kind::pulled:
        finish_rendezvous(read_descriptor<std::uint64_t>(first));
        break;
    }
    if (starved()) return nullptr;
    inbox_.pop(header);
    if (arrived != nullptr) return arrived;
  }
  return nullptr;
}

message* endpoint::record_of(arrival const& a) const {
  message* const m = transport::take_message(0);
  m->base = a.base;
  m->bytes = a.bytes;
  m->token = a.token;
  m->source = config_.first + static_cast<std::int32_t>(a.source);
  m->kind = a.kind;
  m->where = a.where;
  m->period = config_.period;
  return m;
}

message* endpoint::take_from_arena(cell const* first, ring_header const& header, bool in_place) {
  auto const d = read_descriptor<arena_descriptor>(first);
  std::byte* base = at(header.source, config_.layout.arena_offset + d.buffer);
  storage where = storage::arena;
  if (!in_place) {
    std::byte* const copy = take_for_arrival(d.bytes, std::size_t{1} << d.alignment_log2);
    if (copy == nullptr) return nullptr;
    std::memcpy(copy, base, d.bytes);
    arena::hand_back(base);
    base = copy;
    where = storage::privately;
  } else {
    held_in_place_.fetch_add(1, std::memory_order_relaxed);
  }
  return record_of({base, d.bytes, first->token, header.source, d.kind, where});
}

message* endpoint::pull(cell const* first, ring_header const& header) {
  auto const d = read_descriptor<rendezvous_descriptor>(first);
  if (header.source == config_.me) return pull_from_self(d, first->token);
  std::byte* const copy = take_for_arrival(d.bytes, std::size_t{1} << d.alignment_log2);
  if (copy == nullptr) return nullptr;
  peer_process const& peer = config_.peers[header.source];
  if (char const* const failure = read_peer(peer, copy, d.address, d.bytes)) {
    fatal("shm",
          "cannot read a %llu-byte message from the memory of rank %d (process %d): %s. "
          "Set ATOLL_READ_PEERS=0 to send large messages in pieces instead.",
          static_cast<unsigned long long>(d.bytes), config_.first + header.source, static_cast<int>(peer.pid),
          failure);
  }
  send_descriptor(header.source, message_kind::pulled, 0, &d.id, sizeof d.id);
  return record_of({copy, d.bytes, first->token, header.source, d.kind, storage::privately});
}

/// A message to this rank itself: the buffer changes hands, no byte moves.
message* endpoint::pull_from_self(rendezvous_descriptor const& descriptor, std::uint64_t token) {
  auto const found = awaiting_pull_.find(descriptor.id);
  message* const m = record_of(
      {found->second.buffer, descriptor.bytes, token, config_.me, descriptor.kind, storage::privately});
  spilled_ -= descriptor.bytes;  // now counts as arrived
  awaiting_pull_.erase(found);
  unsent_.fetch_sub(1, std::memory_order_relaxed);
  return m;
}

message* endpoint::take_fragment(cell const* first, ring_header const& header) {
  auto const d = read_descriptor<fragment_descriptor>(first);
  std::uint64_t const key = std::uint64_t{header.source} << 48 | d.id;
  auto found = assemblies_.find(key);
  if (found == assemblies_.end()) {
    // Each message under way gets its memory, whatever the limit: those begun would else never be complete,
    // since their pieces come behind this one. A peer has one under way to us at a time.
    std::byte* const buffer = assemblies_.empty()
                                  ? take_for_arrival(d.total, std::size_t{1} << d.alignment_log2)
                                  : take_unlimited(d.total, std::size_t{1} << d.alignment_log2);
    if (buffer == nullptr) {
      set_starved(true);
      return nullptr;
    }
    found = assemblies_.emplace(key, assembly{buffer, 0}).first;
  }
  std::byte* const piece = at(header.source, config_.layout.arena_offset + d.buffer);
  std::memcpy(found->second.buffer + d.offset, piece, d.bytes);
  arena::hand_back(piece);
  found->second.arrived += d.bytes;
  if (found->second.arrived < d.total) return nullptr;
  message* const m =
      record_of({found->second.buffer, d.total, first->token, header.source, d.kind, storage::privately});
  assemblies_.erase(found);
  return m;
}

void endpoint::finish_rendezvous(std::uint64_t id) {
  auto const found = awaiting_pull_.find(id);
  if (found == awaiting_pull_.end()) return;
  forget(found->second);
  awaiting_pull_.erase(found);
  unsent_.fetch_sub(1, std::memory_order_relaxed);
}

void endpoint::return_room(message* arrived) noexcept {
  switch (arrived->where) {
    case storage::ring:
      if (arrived->charged) private_used_.fetch_sub(arrived->bytes, std::memory_order_relaxed);
      break;
    case storage::arena:
      arena::hand_back(arrived->base);
      held_in_place_.fetch_sub(1, std::memory_order_relaxed);
      break;
    case storage::privately:
      give_private(arrived->base, arrived->bytes);
      break;
  }
}

}  // namespace atl::shm
