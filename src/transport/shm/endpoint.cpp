// Life of an endpoint, and sending.

#include "transport/shm/endpoint.hpp"

#include <atoll/transport/growing.hpp>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace atl::shm {

using transport::admission;
using transport::header_bytes;

namespace {

/// Pieces of a fragmented message that fit their part of the arena: one is read while the next is written.
constexpr std::size_t pieces_at_once = 4;

std::uint8_t cells_for(std::size_t bytes) {
  return static_cast<std::uint8_t>((bytes + cell_bytes - 1) / cell_bytes);
}

std::byte* begin_of(cell* first) { return reinterpret_cast<std::byte*>(first); }

ring_counters* counters_of(endpoint_config const& config, std::uint32_t local_rank, lane way) {
  return reinterpret_cast<ring_counters*>(config.base + local_rank * config.stride +
                                          config.layout.counters_of(way));
}

cell* cells_of(endpoint_config const& config, std::uint32_t local_rank, lane way) {
  return reinterpret_cast<cell*>(config.base + local_rank * config.stride + config.layout.ring_of(way));
}

}  // namespace

endpoint::lane_state::lane_state(endpoint_config const& config, lane way)
    : inbox(counters_of(config, config.me, way), cells_of(config, config.me, way), config.layout.ring_cells),
      parked(config.count) {
  outboxes.reserve(config.count);
  for (std::uint32_t peer = 0; peer < config.count; ++peer) {
    outboxes.emplace_back(counters_of(config, peer, way), cells_of(config, peer, way),
                          config.layout.ring_cells);
  }
}

endpoint::endpoint(endpoint_config config)
    : lanes_{{config, lane::request}, {config, lane::control}},
      config_(std::move(config)),
      memory_(*config_.memory),
      arena_(*config_.transit),
      copies_(config_.count) {
  if (!config_.read_peers) {
    fragments_bytes_ = arena_.bytes() / 8 & ~std::size_t{63};
    for (lane_state& each : lanes_) {
      each.fragments_begin = arena_.reserve(fragments_bytes_);
      each.fragments = std::make_unique<arena>(arena_.address(each.fragments_begin), fragments_bytes_);
    }
  }
  arena_largest_ = (arena_.bytes() - lanes * fragments_bytes_) / 4 * 3;
}

endpoint::~endpoint() {
  for (lane_state& each : lanes_) {
    for (parked_queue& queue : each.parked) {
      while (!queue.empty()) {
        parked_message* const item = queue.pop();
        forget(*item);
        delete item;
      }
    }
    if (each.fragments) arena_.unreserve(each.fragments_begin);
  }
  for (parked_message* const item : being_read_) {
    if (item == nullptr) continue;
    forget(*item);
    delete item;
  }
  for (auto& [id, part] : assemblies_) std::free(part.buffer);
}

// ---- begin, commit, cancel -----------------------------------------------------------------------

std::byte* endpoint::take_for_sending(std::size_t bytes, std::size_t alignment, spill allowed) {
  admission const how = allowed == spill::unlimited ? admission::always : admission::if_there_is_credit;
  std::byte* const buffer = memory_.take_for_sending(bytes, alignment, how);
  if (buffer != nullptr || !notice_read()) return buffer;
  return memory_.take_for_sending(bytes, alignment, how);
}

status endpoint::begin(outgoing& out, std::size_t bytes, std::size_t alignment, spill allowed) {
  if (begin_in_ring(out, bytes, alignment)) [[likely]]
    return status::ok;
  out.align_to(alignment);
  bool const fits_ring = bytes <= eager_bytes() && alignment <= cell_bytes;
  if (!fits_ring && bytes <= arena_largest_) {
    std::uint64_t const buffer = arena_.take(bytes, alignment, local(out.target));
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
  bool const could_wait = allowed == spill::never || allowed == spill::bounded;
  if (could_wait && !memory_.admits_spill(bytes, private_bytes_for(out.target, out.way)))
    return status::no_room;
  std::byte* const buffer = take_for_sending(bytes, alignment, allowed);
  if (buffer == nullptr) return status::no_memory;
  out.where = storage::privately;
  out.begin = buffer;
  out.capacity = bytes;
  return status::ok;
}

void endpoint::commit(outgoing& out, message_kind kind, std::uint64_t token, std::size_t bytes,
                      std::uint32_t* kept_back) {
  if (out.where == storage::ring) return commit_in_ring(out, kind, token, bytes);
  std::uint32_t const target = local(out.target);
  arena_descriptor const d{out.position, bytes, kind, out.alignment_log2, false};
  if (out.where == storage::arena &&
      put_in_ring(target, out.way, message_kind::in_arena, token, &d, sizeof d, 6)) {
    return;
  }
  auto* const item = new parked_message;
  item->way = out.way;
  item->target = target;
  item->token = token;
  if (out.where == storage::arena) {
    item->kind = message_kind::in_arena;
    item->descriptor_bytes = sizeof d;
    std::memcpy(item->descriptor, &d, sizeof d);
    park(item);
    return;
  }
  item->kind = kind;
  item->buffer = out.begin;
  item->bytes = bytes;  // the remainder of the buffer is of no use to anybody
  item->alignment_log2 = out.alignment_log2;
  memory_.shorten(out.capacity - bytes);
  charge_queue(*item, 1);
  item->kept_back = kept_back;
  if (kept_back != nullptr) ++*kept_back;
  park(item);
  flush();
}

bool endpoint::commit_growing(outgoing const& out, message_kind kind, std::uint64_t token, std::size_t bytes,
                              std::size_t written) {
  if (out.where != storage::arena) return false;
  // Before the descriptor can be seen; relaxed, since its publication orders it.
  transport::written_of(out.begin).store(written, std::memory_order_relaxed);
  arena_descriptor const d{out.position, bytes, kind, out.alignment_log2, true};
  return put_in_ring(local(out.target), out.way, message_kind::in_arena, token, &d, sizeof d, 6);
}

void endpoint::copy_tail(outgoing const& out, std::size_t written, std::span<std::byte const> tail) noexcept {
  // Few enough that caches hold what two cores share of it, of the largest ones.
  std::size_t const largest = std::max(transport::growth_bytes, tail.size() / 16);
  while (!tail.empty()) {
    std::span<std::byte const> const piece = tail.first(std::min(tail.size(), largest));
    copy_for(out.target, out.begin + written, piece.data(), piece.size());
    written += piece.size();
    tail = tail.subspan(piece.size());
    // Pairs with the acquire in await_written().
    transport::written_of(out.begin).store(written, std::memory_order_release);
  }
}

void endpoint::cancel(outgoing& out) noexcept {
  switch (out.where) {
    case storage::ring:
      of(out.way).outboxes[local(out.target)].publish(
          out.position, {16, 0, static_cast<std::uint8_t>(message_kind::padding), out.cells, 6});
      return;
    case storage::arena:
      arena::hand_back(out.begin);
      return;
    case storage::privately:
      memory_.give_sent(out.begin, out.capacity);
      return;
    case storage::network:
    case storage::in_network:
      return;  // never here: the network gives them back
  }
}

// ---- what is parked ------------------------------------------------------------------------------

bool endpoint::put_in_ring(std::uint32_t target, lane way, message_kind kind, std::uint64_t token,
                           void const* payload, std::size_t payload_bytes, std::uint8_t alignment_log2) {
  std::size_t const bytes = header_bytes + payload_bytes;
  std::uint8_t const cells = cells_for(bytes);
  ring_producer& ring = of(way).outboxes[target];
  std::uint64_t const position = ring.reserve(cells);
  if (position == ring_producer::no_room) return false;
  cell* const first = ring.at(position);
  std::memcpy(begin_of(first) + header_bytes, payload, payload_bytes);
  first->token = token;
  ring.publish(position, {static_cast<std::uint16_t>(bytes), static_cast<std::uint16_t>(config_.me),
                          static_cast<std::uint8_t>(kind), cells, alignment_log2});
  wake(target);
  return true;
}

void endpoint::charge_queue(parked_message const& item, std::ptrdiff_t sign) {
  auto const bytes = static_cast<std::size_t>(sign * static_cast<std::ptrdiff_t>(item.bytes));
  of(item.way).parked[item.target].private_bytes += bytes;
  of(item.way).private_bytes += bytes;
}

void endpoint::park(parked_message* item) {
  of(item->way).parked[item->target].push(item);
  unsent_.fetch_add(1, std::memory_order_relaxed);
  busy_.fetch_add(1, std::memory_order_relaxed);
}

void endpoint::forget(parked_message& item) {
  if (item.buffer == nullptr) return;
  charge_queue(item, -1);
  memory_.give_sent(item.buffer, item.bytes);
  item.buffer = nullptr;
}

bool endpoint::flush() {
  bool moved = notice_read();
  if (unsent() == 0) return moved;
  // Answers first: somebody waits for them.
  moved |= flush(of(lane::control));
  moved |= flush(of(lane::request));
  return moved;
}

bool endpoint::flush(lane_state& from) {
  bool moved = false;
  for (parked_queue& queue : from.parked) {
    while (!queue.empty()) {
      parked_message& item = *queue.first;
      std::uint64_t const sent = item.sent;
      bool kept = false;
      if (!send_parked(item, kept)) {
        moved |= item.sent != sent;
        break;
      }
      queue.pop();
      unsent_.fetch_sub(1, std::memory_order_relaxed);
      if (item.kept_back != nullptr) --*item.kept_back;
      if (!kept) {
        busy_.fetch_sub(1, std::memory_order_relaxed);
        delete &item;
      }
      moved = true;
    }
  }
  return moved;
}

/// False: no room yet. `kept`: it has left, and the record stays until it has been read.
bool endpoint::send_parked(parked_message& item, bool& kept) {
  if (item.buffer == nullptr) {
    return put_in_ring(item.target, item.way, item.kind, item.token, item.descriptor, item.descriptor_bytes,
                       6);
  }
  if (item.by_fragments) return send_fragments(item);
  if (item.bytes <= eager_bytes() && (std::size_t{1} << item.alignment_log2) <= cell_bytes) {
    if (!put_in_ring(item.target, item.way, item.kind, item.token, item.buffer + header_bytes,
                     item.bytes - header_bytes, item.alignment_log2)) {
      return false;
    }
    forget(item);
    return true;
  }
  if (item.bytes <= arena_largest_ && send_by_arena(item)) return true;
  if (config_.read_peers || item.target == config_.me) return send_by_rendezvous(item, kept);
  item.id = next_id_++;
  item.by_fragments = true;
  return send_fragments(item);
}

bool endpoint::send_by_arena(parked_message& item) {
  // Asked with every progress: what one look misses, the next ones see.
  std::uint64_t const buffer =
      arena_.take(item.bytes, std::size_t{1} << item.alignment_log2, item.target, arena::effort::few);
  if (buffer == arena::npos) return false;
  std::memcpy(arena_.address(buffer) + header_bytes, item.buffer + header_bytes, item.bytes - header_bytes);
  arena_descriptor const d{buffer, item.bytes, item.kind, item.alignment_log2, false};
  if (!put_in_ring(item.target, item.way, message_kind::in_arena, item.token, &d, sizeof d, 6)) {
    arena::hand_back(arena_.address(buffer));
    return false;
  }
  forget(item);
  return true;
}

bool endpoint::send_by_rendezvous(parked_message& item, bool& kept) {
  parked_message** const begin = being_read_ + index_of(item.way) * slots_of_lane;
  parked_message** const slot =
      std::find(begin, begin + slots_of_lane, static_cast<parked_message*>(nullptr));
  if (slot == begin + slots_of_lane) return false;
  auto const number = static_cast<std::uint32_t>(slot - being_read_);
  rendezvous_descriptor const d{reinterpret_cast<std::uintptr_t>(item.buffer), item.bytes, number, item.kind,
                                item.alignment_log2};
  // Before the descriptor can be seen; relaxed, since its publication orders it.
  flags_of(config_.me).unread[number].store(1, std::memory_order_relaxed);
  if (!put_in_ring(item.target, item.way, message_kind::rendezvous, item.token, &d, sizeof d, 6))
    return false;
  *slot = &item;
  ++being_read_count_;
  return kept = true;
}

bool endpoint::send_fragments(parked_message& item) {
  lane_state& on = of(item.way);
  constexpr std::size_t longest = std::size_t{1} << 30;  // descriptors have 32 bits for it
  std::size_t const largest = std::min(fragments_bytes_ / pieces_at_once - block_flag_bytes, longest);
  while (item.sent < item.bytes) {
    std::size_t const piece = std::min<std::size_t>(item.bytes - item.sent, largest);
    std::uint64_t const buffer = on.fragments->take(piece, 64, item.target);
    if (buffer == arena::npos) return false;
    std::memcpy(on.fragments->address(buffer), item.buffer + item.sent, piece);
    fragment_descriptor const d{on.fragments_begin + buffer,
                                item.sent,
                                static_cast<std::uint32_t>(piece),
                                item.kind,
                                item.alignment_log2,
                                item.bytes,
                                item.id};
    if (!put_in_ring(item.target, item.way, message_kind::fragment, item.token, &d, sizeof d, 6)) {
      arena::hand_back(on.fragments->address(buffer));
      return false;
    }
    item.sent += piece;
  }
  forget(item);
  return true;
}

/// Frees what has been read from this rank's private memory since the last look.
bool endpoint::notice_read() {
  if (being_read_count_ == 0) return false;
  bool any = false;
  for (std::size_t slot = 0, left = being_read_count_; left != 0; ++slot) {
    parked_message* const item = being_read_[slot];
    left -= item != nullptr ? 1 : 0;
    // Acquire pairs with the release of the reader, in pull(): it has read all it wanted.
    if (item == nullptr || flags_of(config_.me).unread[slot].load(std::memory_order_acquire) != 0) continue;
    being_read_[slot] = nullptr;
    --being_read_count_;
    busy_.fetch_sub(1, std::memory_order_relaxed);
    forget(*item);
    delete item;
    any = true;
  }
  return any;
}

}  // namespace atl::shm
