// Messages that wait leave: whole, announced, or in pieces, and credit goes back.

#include "engine/network/network_messages.hpp"

#include <algorithm>
#include <cstring>
#include <span>
#include <utility>

#include "base/error.hpp"
#include "engine/network/failure.hpp"
#include "engine/network/frames.hpp"

namespace atl::engine {

using transport::header_bytes;
using transport::index_of;
using transport::lane;
using transport::message;
using transport::message_kind;
using transport::message_sizes;
using transport::started;

namespace {

/// Late payloads to one peer, in each lane. Who has no memory does not fetch them, and a transport that has many to keep takes no more of
/// that lane, the engine's own messages among them; what is announced instead leaves nothing behind in it.
constexpr std::uint32_t most_late = 16;
static_assert(most_late <= transport::least_late);

}  // namespace

/// A message that the transport reads where it lies.
struct network_messages::sending final : transport::operation {
  network_messages& all;
  message* read;
  std::uint32_t* late;  ///< counts it, too; or null

  sending(network_messages& owner, message* m, std::uint32_t* count)
      : operation(&sent, transport::ask_source), all(owner), read(m), late(count) {}

  static void sent(operation& self, transport::completion, transport::outcome how) {
    auto* const s = static_cast<sending*>(&self);
    message const& m = *s->read;
    if (how != transport::outcome::ok) {
      operation_failed(s->all, how, m.source, format("a message of %zu bytes to rank %d", m.bytes, m.source),
                       without_that_network);
    }
    if (s->late != nullptr) --*s->late;
    s->all.drop_sent(s->read);
    delete s;
  }
};

/// A message that is counted until it has left.
struct network_messages::leaving final : transport::operation {
  network_messages& all;
  std::int32_t rank;
  std::uint32_t* kept_back;

  leaving(network_messages& owner, std::int32_t target, std::uint32_t* count)
      : operation(&gone, transport::ask_left), all(owner), rank(target), kept_back(count) {}

  static void gone(operation& self, transport::completion, transport::outcome how) {
    auto* const l = static_cast<leaving*>(&self);
    if (how != transport::outcome::ok) {
      operation_failed(l->all, how, l->rank, format("a message to rank %d", l->rank), without_that_network);
    }
    --*l->kept_back;
    delete l;
  }
};

void network_messages::list(network_peer& p) {
  if (std::exchange(p.listed, true)) return;
  active_.push_back(&p);
}

/// Sends the first message that waits, if that is possible now.
bool network_messages::send_first(network_peer& p, lane way) {
  if (by_host_ && way == lane::request && send_first_by_host(p)) return true;
  if (!connect(p) || !close_bundle(p, way)) return false;
  if (bundles_ && send_together(p, way)) return true;
  waiting_messages& queue = p.waiting[index_of(way)];
  message* const m = queue.first;
  if (way == lane::request && !has_credit(p, m->bytes)) return false;
  // Before it goes: it may be read, and be gone, at once.
  message* const next = static_cast<message*>(m->next);
  std::size_t const cost = cost_of(m->bytes);
  std::size_t const payload = m->bytes - header_bytes;
  message_sizes const& sizes = p.sizes[index_of(way)];
  bool const late =
      network_->abilities().late_payload && payload <= sizes.late && p.late[index_of(way)] < most_late;
  bool whole = payload <= sizes.eager || late;
  bool gone = whole && send_whole(p, way, m, whole);
  if (!whole) gone = announce(p, way, m);
  if (!gone) return false;
  queue.first = next;
  if (next == nullptr) queue.last = nullptr;
  if (whole) --waiting_;  // what was announced needs this rank until it is asked for
  if (way == lane::request) p.in_use += cost;
  return true;
}

/// `possible`: becomes false where the transport cannot reach the memory of a late payload.
bool network_messages::send_whole(network_peer& p, lane way, message* m, bool& possible) {
  std::size_t const payload = m->bytes - header_bytes;
  auto const alignment_log2 = static_cast<std::uint8_t>(m->period);
  if (std::uint32_t* const kept_back = kept_back_of(*m); kept_back != nullptr) [[unlikely]]
    return send_counted(p, way, m, kept_back);
  // Calls and answers that are longer than what comes unasked wait here until the peer has memory for them.
  message_sizes const& sizes = p.sizes[index_of(way)];
  if (payload <= (m->kind == message_kind::active ? sizes.in_place : std::min(sizes.in_place, sizes.eager))) {
    transport::network_buffer buffer;
    started const s = network_->begin(p.rank, way, sizeof(frame), payload, payload, buffer);
    if (s == started::no_room) return false;
    if (s != started::complete) lost(p.rank, network_->last_error());
    std::memcpy(buffer.payload, m->payload(), payload);
    frame const f = frame_of(p, m->kind, m->token, alignment_log2);
    network_->commit(buffer, std::as_bytes(std::span(&f, 1)), payload);
    drop_sent(m);
    return true;
  }
  frame const f{m->token, m->kind, alignment_log2, form::whole, static_cast<std::uint32_t>(p.owed)};
  std::uint32_t* const late = payload > sizes.eager ? &p.late[index_of(way)] : nullptr;
  auto* const op = new sending(*this, m, late);
  started const s =
      send_with_credit(p, way, std::as_bytes(std::span(&f, 1)), {m->payload(), nullptr}, payload, op);
  if (s == started::under_way) {
    if (late != nullptr) ++*late;
    return true;
  }
  delete op;
  if (transport::has_begun(s)) {
    drop_sent(m);
    return true;
  }
  possible = s != started::unsupported || late == nullptr;
  if (s != started::no_room && possible) lost(p.rank, network_->last_error());
  return false;
}

bool network_messages::send_counted(network_peer& p, lane way, message* m, std::uint32_t* kept_back) {
  frame const f{m->token, m->kind, static_cast<std::uint8_t>(m->period), form::whole,
                static_cast<std::uint32_t>(p.owed)};
  auto* const op = new leaving(*this, p.rank, kept_back);
  started const s = send_with_credit(p, way, std::as_bytes(std::span(&f, 1)), {m->payload(), nullptr},
                                     m->bytes - header_bytes, op);
  if (s != started::under_way) delete op;
  if (s == started::no_room) return false;
  if (!transport::has_begun(s)) lost(p.rank, network_->last_error());
  if (s != started::under_way) --*kept_back;
  drop_sent(m);
  return true;
}

/// Tells the peer that there is a message for it, which goes when the peer has memory for it.
bool network_messages::announce(network_peer& p, lane way, message* m) {
  announcement const a{
      {m->token, m->kind, static_cast<std::uint8_t>(m->period), form::announced, 0}, m->bytes, next_number_};
  if (!send_announcement(p, way, a)) return false;
  offered_.emplace(next_number_++, m);
  return true;
}

bool network_messages::send_note(network_peer& p, form what, std::uint64_t number) {
  return connect(p) &&
         send_announcement(p, lane::control, {{0, message_kind::active, 0, what, 0}, 0, number});
}

/// With the credit that is owed; false: there is no room.
bool network_messages::send_announcement(network_peer& p, lane way, announcement what) {
  frame const& f = what.head;
  what.head = {f.token, f.kind(), f.alignment_log2(), f.what(), static_cast<std::uint32_t>(p.owed)};
  std::byte bytes[sizeof what];
  std::memcpy(bytes, &what, sizeof what);
  started const s = send_with_credit(p, way, bytes, {}, 0, nullptr);
  if (!transport::has_begun(s) && s != started::no_room) lost(p.rank, network_->last_error());
  return s != started::no_room;
}

void network_messages::start_pieces(network_peer& p, std::uint64_t number) {
  auto const found = offered_.find(number);
  if (found == offered_.end()) return;
  p.pieces.push_back({found->second, number, 0});
  offered_.erase(found);
  list(p);
}

bool network_messages::send_pieces(network_peer& p, outgoing_pieces& what) {
  message* const m = what.whole;
  lane const way = transport::lane_of(m->kind);
  std::size_t const most = p.sizes[index_of(way)].eager;
  while (what.sent < m->bytes) {
    std::size_t const bytes = std::min(most, m->bytes - what.sent);
    piece const head{what.number, what.sent, form::piece};
    std::byte header[sizeof head];
    std::memcpy(header, &head, sizeof head);
    // Without events: the transport copies what it takes in one piece.
    transport::network_buffer buffer;
    started const s = network_->begin(p.rank, way, sizeof head, 1, bytes, buffer);
    if (s == started::no_room) return false;
    if (s != started::complete) lost(p.rank, network_->last_error());
    std::size_t const fits = std::min(bytes, buffer.capacity);
    std::memcpy(buffer.payload, m->base + what.sent, fits);
    network_->commit(buffer, header, fits);
    what.sent += fits;
  }
  return true;
}

bool network_messages::settle_credit(network_peer& p) {
  if (ending_) return true;  // nobody needs it, and it would open connections that nobody closes
  if (p.passed >= credit_to_return) {
    if (!send_note(p, form::passed, p.passed)) return false;
    p.passed = 0;
  }
  // A peer that wants credit connects before it looks for it: none is opened, and others closed, to give it back.
  if (p.owed < credit_to_return || p.link != link_state::open) return true;
  return send_note(p, form::credit, 0);
}

/// Is there nothing between this rank and the peer, as before they first had to do with each other?
bool network_messages::is_settled(network_peer const& p) noexcept {
  bool const nothing_sent = p.waiting[0].private_bytes == 0 && p.waiting[1].private_bytes == 0;
  bool const passes = p.counterpart_of != 0 || p.passing != 0 || p.passed != 0;
  // Who was refused is tried again, from other places, too, and not for ever.
  return p.link == link_state::none && p.refusals == 0 && !p.wanted && nothing_sent && !p.bundling &&
         p.in_use == 0 && p.owed == 0 && p.unfetched == 0 && !passes;
}

/// Peers whose connection has been closed take no memory: there may be as many as the job has ranks.
void network_messages::forget(network_peer const& p) {
  if (recent_ == &p) recent_ = nullptr;
  if (p.counterpart != nullptr && p.counterpart != &p) --p.counterpart->counterpart_of;
  peers_.erase(p.rank);
}

/// True if anything moved.
bool network_messages::flush(network_peer& p) {
  bool moved = p.wanted && connect(p);
  for (lane const way : {lane::control, lane::request}) {
    while (!p.waiting[index_of(way)].empty() && send_first(p, way)) moved = true;
  }
  // The peer may have closed the connection between two pieces.
  for (std::size_t i = 0; i < p.pieces.size() && connect(p);) {
    std::size_t const before = p.pieces[i].sent;
    bool const all = send_pieces(p, p.pieces[i]);
    moved |= p.pieces[i].sent != before;
    if (!all) break;
    drop_sent(p.pieces[i].whole);
    p.pieces.erase(p.pieces.begin() + static_cast<std::ptrdiff_t>(i));
    --waiting_;
  }
  return moved;
}

/// The same of all peers on the list. Those for which nothing waits any more leave it.
bool network_messages::flush() {
  bool moved = false;
  for (std::size_t i = 0; i < active_.size();) {
    network_peer& p = *active_[i];
    moved |= flush(p);
    bool const settled = settle_credit(p);
    if (settled && !p.wanted && p.pieces.empty() && p.waiting[0].empty() && p.waiting[1].empty()) {
      p.listed = false;
      active_[i] = active_.back();
      active_.pop_back();
      if (is_settled(p)) forget(p);
    } else {
      ++i;
    }
  }
  return moved;
}
}  // namespace atl::engine
