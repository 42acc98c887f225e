// Messages that leave together.
//
// A message of some bytes costs a system call at each side where the network is TCP: some microseconds, hundreds of times what it costs to write it.
// The first one of a burst leaves at once, so that nobody who waits for a single message waits longer. Those that follow to the same peer, in
// the same lane, are written behind each other into a buffer of the network's, which leaves when it is full, when something that must
// stay behind them is to leave, and in this rank's next progress at any level. Until then they count as unsent.
//
// Each has the credit that it would have alone. A bundle leaves only when nobody writes into it any more.

#include <algorithm>
#include <cstring>
#include <span>
#include <utility>

#include <atoll/base/round_up.hpp>

#include "engine/network/frames.hpp"

namespace atl::engine {

using transport::header_bytes;
using transport::index_of;
using transport::lane;
using transport::message_kind;
using transport::outgoing;
using transport::started;
using transport::storage;

namespace {

/// Bytes of a bundle: enough for the costs of a message to be small beside those of its parts.
constexpr std::size_t bundle_bytes = 8192;

}  // namespace

/// Bytes of a bundle that a message takes.
std::size_t network_messages::room_of(std::size_t message_bytes) noexcept {
  static_assert(sizeof(entry) + most_bundled < entry::given_up);
  return sizeof(entry) + round_up(message_bytes - header_bytes, std::size_t{8});
}

/// Takes a buffer for several messages, of which the first needs so much room. False: there is none.
bool network_messages::take_bundle_buffer(network_peer const& p, lane way, std::size_t room,
                                          transport::network_buffer& buffer) {
  std::size_t const most = std::min(bundle_bytes, p.sizes[index_of(way)].in_place);
  return room <= most && network_->begin(p.rank, way, sizeof(frame), room, most, buffer) == started::complete;
}

/// `token`: of its frame.
void network_messages::send_bundle(network_peer& p, transport::network_buffer& buffer, form what,
                                   std::uint64_t token, std::size_t used) {
  frame const f(token, message_kind::active, 0, what, static_cast<std::uint32_t>(std::exchange(p.owed, 0)));
  network_->commit(buffer, std::as_bytes(std::span(&f, 1)), used);
}

/// Begins a bundle whose first message takes so much room. False: there is no buffer.
bool network_messages::begin_bundle(network_peer const& p, lane way, std::size_t room, message_bundle& b) {
  if (!take_bundle_buffer(p, way, room, b.buffer)) return false;
  b.begun = true;
  b.used = b.messages = 0;
  return true;
}

/// There is room for it.
void network_messages::begin_entry(message_bundle& b, outgoing& out, std::size_t bytes,
                                   std::size_t alignment) {
  std::size_t const room = room_of(bytes);
  std::byte* const at = b.buffer.payload + b.used;
  b.last = b.used;
  entry const e{{}, entry::given_up, static_cast<std::uint16_t>(room), out.target};
  std::memcpy(at, &e, sizeof e);
  b.used += room;
  ++b.open;
  ++b.messages;
  ++bundled_;
  out.begin = at + sizeof(entry) - header_bytes;
  out.align_to(alignment);
  out.where = storage::in_network;
  out.capacity = bytes;
}

void network_messages::commit_entry(message_bundle& b, outgoing const& out, frame const& head,
                                    std::size_t bytes) {
  std::byte* const at = out.begin + header_bytes - sizeof(entry);
  entry e;
  std::memcpy(&e, at, sizeof e);
  // What the last one does not need is the next one's.
  if (at + e.room == b.buffer.payload + b.used) {
    std::size_t const room = room_of(bytes);
    b.used -= e.room - room;
    e.room = static_cast<std::uint16_t>(room);
  }
  e.head = head;
  e.bytes = static_cast<std::uint16_t>(bytes - header_bytes);
  std::memcpy(at, &e, sizeof e);
  --b.open;
  unsent_.store(waiting_ + bundled_, std::memory_order_relaxed);
}

/// Sends it, if nobody writes into it any more.
bool network_messages::end_bundle(network_peer& p, message_bundle& b, form what, std::uint64_t token) {
  if (b.open != 0) return false;
  send_bundle(p, b.buffer, what, token, b.used);
  bundled_ -= b.messages;
  b.begun = b.waits = false;
  b.used = 0;
  return true;
}

bool network_messages::begin_bundled(network_peer& p, outgoing& out, std::size_t bytes,
                                     std::size_t alignment) {
  message_bundle& b = p.bundles[index_of(out.way)];
  std::size_t const room = room_of(bytes);
  if (b.begun && b.used + room > b.buffer.capacity && !close_bundle(p, out.way)) return false;
  if (!b.begun && !begin_bundle(p, out.way, room, b)) return false;
  begin_entry(b, out, bytes, alignment);
  out.position = in_bundle;
  if (out.way == lane::request) p.in_use += cost_of(bytes);
  return true;
}

void network_messages::commit_bundled(network_peer& p, outgoing& out, message_kind kind, std::uint64_t token,
                                      std::size_t bytes) {
  commit_entry(p.bundles[index_of(out.way)], out, frame(token, kind, out.alignment_log2, form::whole, 0),
               bytes);
}

bool network_messages::would_wait(std::int32_t target, std::size_t bytes) {
  if (!bundles_ || by_host_) return false;
  network_peer const& p = peer(target);
  message_bundle const& b = p.bundles[index_of(lane::control)];
  return b.in_burst && !b.waits && p.lately == last_acknowledged::nothing &&
         may_leave(p, lane::control, bytes);
}

std::byte* network_messages::write_bundled(std::int32_t target, std::uint64_t token, std::size_t payload) {
  network_peer& p = peer(target);
  outgoing out;
  out.target = target;
  out.way = lane::control;
  std::size_t const bytes = header_bytes + payload;
  if (!begin_bundled(p, out, bytes, transport::buffer_alignment)) return nullptr;
  p.last_use = ++uses_;
  commit_bundled(p, out, message_kind::active, token, bytes);
  return out.begin + header_bytes;
}

std::byte* network_messages::last_bundled(std::int32_t target, std::uint64_t token) {
  message_bundle const& b = peer(target).bundles[index_of(lane::control)];
  if (!b.begun || b.waits || b.used == 0) return nullptr;
  std::byte* const at = b.buffer.payload + b.last;
  entry e;
  std::memcpy(&e, at, sizeof e);
  return e.bytes != entry::given_up && e.head.token == token ? at + sizeof e : nullptr;
}

std::byte* network_messages::lengthen_last(std::int32_t target, std::size_t bytes) {
  message_bundle& b = peer(target).bundles[index_of(lane::control)];
  std::byte* const at = b.buffer.payload + b.last;
  entry e;
  std::memcpy(&e, at, sizeof e);
  // What arrives in a bundle has room in a pooled block.
  if (b.used + bytes > b.buffer.capacity || header_bytes + e.bytes + bytes > most_in_place) return nullptr;
  std::byte* const more = at + sizeof e + e.bytes;
  e.bytes = static_cast<std::uint16_t>(e.bytes + bytes);
  e.room = static_cast<std::uint16_t>(e.room + bytes);
  std::memcpy(at, &e, sizeof e);
  b.used += bytes;
  return more;
}

/// Its entry stays, and says that there is nothing in it.
void network_messages::cancel_entry(message_bundle& b) noexcept { --b.open; }

/// False: it is being written. True also if there is none.
bool network_messages::close_bundle(network_peer& p, lane way) {
  message_bundle& b = p.bundles[index_of(way)];
  return !b.begun || end_bundle(p, b, form::bundle, b.messages);
}

/// Messages that had to wait for room or for credit leave together as well: those at the front of their queue that are small. False: there
/// are not several, or there is no room.
bool network_messages::send_together(network_peer& p, lane way) {
  waiting_messages& queue = p.waiting[index_of(way)];
  auto const is_small = [](transport::message const* m) {
    // `period` is the binary logarithm of what it is aligned to while it is on its way out.
    return m != nullptr && m->bytes <= most_bundled && kept_back_of(*m) == nullptr &&
           (std::size_t{1} << m->period) <= transport::buffer_alignment;
  };
  auto const after = [](transport::message const* m) { return static_cast<transport::message*>(m->next); };
  if (!is_small(queue.first) || !is_small(after(queue.first))) return false;
  transport::network_buffer buffer;
  if (!take_bundle_buffer(p, way, room_of(queue.first->bytes), buffer)) return false;
  std::size_t used = 0;
  std::uint64_t messages = 0;
  while (is_small(queue.first)) {
    transport::message* const m = queue.first;
    std::size_t const room = room_of(m->bytes);
    if (used + room > buffer.capacity || (way == lane::request && !has_credit(p, m->bytes))) break;
    entry const e{frame(m->token, m->kind, static_cast<std::uint8_t>(m->period), form::whole, 0),
                  static_cast<std::uint16_t>(m->bytes - header_bytes), static_cast<std::uint16_t>(room),
                  p.rank};
    std::memcpy(buffer.payload + used, &e, sizeof e);
    std::memcpy(buffer.payload + used + sizeof e, m->payload(), e.bytes);
    used += room;
    ++messages;
    if (way == lane::request) p.in_use += cost_of(m->bytes);
    static_cast<void>(queue.pop());
    --waiting_;
    drop_sent(m);
  }
  if (messages == 0) {
    network_->cancel(buffer);
    return false;
  }
  send_bundle(p, buffer, form::bundle, messages, used);
  return true;
}

/// A message has left: those that follow may wait.
void network_messages::follow_burst(network_peer& p, lane way) {
  p.bundles[index_of(way)].in_burst = true;
  look_after_bundles(p);
}

void network_messages::look_after_bundles(network_peer& p) {
  if (std::exchange(p.bundling, true)) return;
  bundling_.push_back(&p);
}

/// All bursts end. True if something leaves.
bool network_messages::close_bundles() {
  bool moved = false;
  for (std::size_t i = 0; i < bundling_.size();) {
    network_peer& p = *bundling_[i];
    bool all = !keep_acknowledgements(p);
    p.by_host.in_burst = false;
    moved |= p.by_host.begun;
    all &= close_by_host(p);
    for (lane const way : {lane::control, lane::request}) {
      message_bundle& b = p.bundles[index_of(way)];
      b.in_burst = false;
      if (!all && b.waits) continue;
      moved |= b.begun;
      all &= close_bundle(p, way);
    }
    if (!all) {
      ++i;
      continue;
    }
    p.bundling = false;
    bundling_[i] = bundling_.back();
    bundling_.pop_back();
  }
  if (moved) stirred_ = true;
  return moved;
}

}  // namespace atl::engine
