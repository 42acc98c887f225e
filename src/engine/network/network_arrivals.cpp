// Messages from other hosts.

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/error.hpp"
#include "engine/network/failure.hpp"
#include "engine/network/frames.hpp"
#include "engine/network/network_messages.hpp"
#include "transport/message_pool.hpp"

namespace atl::engine {

using transport::admission;
using transport::arrival;
using transport::header_bytes;
using transport::index_of;
using transport::lane;
using transport::message;
using transport::message_kind;
using transport::started;
using transport::storage;
using transport::taken;

namespace {

bool is_pooled(std::size_t bytes, unsigned alignment_log2) {
  return bytes <= transport::pooled_room[2] &&
         (std::size_t{1} << alignment_log2) <= transport::buffer_alignment;
}

std::uint64_t key_of(std::int32_t source, std::uint64_t number) {
  return static_cast<std::uint64_t>(source) << 40 ^ number;
}

}  // namespace

/// A payload that the transport brings.
struct network_messages::fetching final : transport::operation {
  network_messages& all;
  message* whole;

  fetching(network_messages& owner, message* m)
      : operation(&fetched, transport::ask_finished), all(owner), whole(m) {}

  static void fetched(operation& self, transport::completion, transport::outcome how) {
    auto* const f = static_cast<fetching*>(&self);
    message const& m = *f->whole;
    if (how != transport::outcome::ok) {
      operation_failed(f->all, how, m.source,
                       format("a message of %zu bytes from rank %d", m.bytes, m.source),
                       without_that_network);
    }
    f->all.deliver_asked_for(f->whole);
    delete f;
  }
};

/// A record with room behind it, which is not counted as arrived yet.
message* network_messages::make_pooled(frame const& f, std::int32_t source, std::size_t bytes) const {
  message* const m = transport::take_message(bytes);
  m->where = storage::ring;
  m->bytes = bytes;
  m->token = f.token;
  m->source = source;
  m->kind = f.kind();
  m->period = shape_.period;
  return m;
}

/// A record with room for the message; null: it is not admitted. Where it has to be, and there is no memory, the rank ends.
message* network_messages::make_arrival(announced_message const& what, admission how) {
  frame const f{what.token, what.kind, what.alignment_log2, form::whole, 0};
  if (is_pooled(what.bytes, what.alignment_log2)) return make_pooled(f, what.source, what.bytes);
  std::byte* const base = memory_.take_for_arrival(what.bytes, std::size_t{1} << what.alignment_log2, how);
  if (base == nullptr && how == admission::always) {
    fatal(
        "network",
        "the system has no memory for a message of %zu bytes from rank %d. Give the ranks more memory, or send less "
        "at a time.",
        what.bytes, what.source);
  }
  if (base == nullptr) return nullptr;
  message* const m = make_pooled(f, what.source, 0);
  m->where = storage::privately;
  m->base = base;
  m->bytes = what.bytes;
  return m;
}

/// Undoes that.
void network_messages::drop_arrival(message* m) noexcept {
  if (m->where == storage::privately) {
    memory_.give_arrival(m->base, m->bytes);
  } else if (m->charged) {
    memory_.discharge_arrival(m->bytes);
  }
  transport::return_message(m);
}

/// Counts what lies in a pooled block and is not used at once. Active messages are for the engine, which is quick.
void network_messages::charge(message& m) noexcept {
  if (m.where != storage::ring || m.charged || m.kind == message_kind::active) return;
  m.charged = true;
  memory_.charge_arrival(m.bytes);
}

void network_messages::deliver(message* m) {
  lane const way = transport::lane_of(m->kind);
  if (m->kind != message_kind::active) ++calls_taken_;
  // The first is mostly taken next, and perhaps used where it is.
  if (!arrived_[index_of(way)].empty()) charge(*m);
  if (way == lane::request) {
    // While there is memory the sender may go on; else when the program has this one.
    m->owes_credit = !memory_.admits_arrival(0);
    if (!m->owes_credit) owe(*m);
  }
  arrived_[index_of(way)].push(m);
}

void network_messages::deliver_asked_for(message* m) {
  --coming_[index_of(transport::lane_of(m->kind))];
  deliver(m);
}

/// The credit of a request goes back to its sender, when enough has come together.
void network_messages::owe(message const& m) {
  network_peer& p = peer(m.source);
  p.owed += cost_of(m.bytes);
  if (p.owed >= credit_to_return) list(p);
}

message* network_messages::take(transport::taking how) {
  for (lane const way : {lane::control, lane::request}) {
    auto& queue = arrived_[index_of(way)];
    if (queue.empty() || (way == lane::request && !how.requests)) continue;
    message* const m = queue.pop();
    if (!how.in_place(way)) charge(*m);
    if (std::exchange(m->owes_credit, false)) owe(*m);
    m->more = !queue.empty();
    return m;
  }
  bool const soon = how.control_in_place || how.whatever_the_limit;
  if (soon && !announced_.empty()) static_cast<void>(ask_for_announced({how.requests, true}));
  return nullptr;
}

/// False: no memory, or no room for the question.
bool network_messages::ask_for(announced_message const& what, admission how) {
  message* const m = make_arrival(what, how);
  if (m == nullptr) return false;
  bool asked = false;
  std::size_t& coming = coming_[index_of(transport::lane_of(what.kind))];
  ++coming;
  if (what.late) {
    auto* const op = new fetching(*this, m);
    started const s = network_->fetch(what.handle, {m->payload(), nullptr}, op);
    asked = transport::has_begun(s);
    if (!asked || s == started::complete) delete op;
    if (asked) --peer(what.source).unfetched;
    if (s == started::complete) deliver_asked_for(m);
    if (s == started::unsupported) {
      fatal("network",
            "a message of %zu bytes from rank %d cannot be received: %s. `ulimit -l` may be too low.",
            what.bytes, what.source, network_->last_error().c_str());
    }
    if (!asked && s != started::no_room) lost(what.source, network_->last_error());
  } else {
    asked = send_note(peer(what.source), form::wanted, what.number);
    if (asked) assemblies_.emplace(key_of(what.source, what.number), assembly{m, 0});
  }
  if (asked) return true;
  --coming;
  drop_arrival(m);
  return false;
}

bool network_messages::lacks_memory() const noexcept {
  return !memory_.admits_arrival(0) ||
         std::any_of(announced_.begin(), announced_.end(),
                     [this](announced_message const& each) { return !memory_.admits_arrival(each.bytes); });
}

/// Asks for what was announced, as far as there is memory. Of a lane of which one is used as soon as it is there (`soon`), for one whatever
/// the limit, an answer if there is one; but for no other while one comes: all that peers may announce would be too much.
bool network_messages::ask_for_announced(lanes_of soon) {
  bool any = false;
  for (lane const way : {lane::request, lane::control}) soon[index_of(way)] &= coming_[index_of(way)] == 0;
  // A request that finds no memory does not hold up answers and the engine's messages behind it.
  for (std::size_t i = 0; i < announced_.size();) {
    announced_message const next = announced_[i];
    bool const answer = transport::lane_of(next.kind) == lane::control;
    // A connection is closed when all is fetched.
    bool const closes = next.late && peer(next.source).link == link_state::closing;
    bool const always =
        next.kind == message_kind::active || (answer && soon[index_of(lane::control)]) || closes;
    if (!ask_for(next, always ? admission::always : admission::if_there_is_credit)) {
      ++i;
      continue;
    }
    if (answer) soon = {};
    announced_.erase(announced_.begin() + static_cast<std::ptrdiff_t>(i));
    any = true;
  }
  // Answers that are left here found no room for the question.
  if (any || !soon[index_of(lane::request)]) return any;
  auto const first = std::find_if(announced_.begin(), announced_.end(), [](announced_message const& each) {
    return transport::lane_of(each.kind) == lane::request;
  });
  if (first == announced_.end() || !ask_for(*first, admission::always)) return false;
  announced_.erase(first);
  return true;
}

/// Shows a message of so many bytes, header included, to whom it may concern where it lies; what is left of them is to be delivered.
std::size_t network_messages::left_of(frame const& f, std::int32_t source, std::byte* payload,
                                      std::size_t bytes) const {
  if (f.kind() != message_kind::active || on_active == nullptr) return bytes;
  return on_active(source, f.token, payload - header_bytes, bytes);
}

taken network_messages::arrived(arrival const& what) {
  network_peer& p = peer(what.peer);
  p.last_use = ++uses_;
  frame f;
  std::memcpy(&f, what.header.data(), sizeof f);
  if (what.header.size() == sizeof(piece)) {
    take_piece(what);
    return taken::consumed;
  }
  p.in_use -= f.credit();  // who waits for it is on the list
  if (what.header.size() == sizeof(announcement)) {
    take_announcement(what, what.header.data());
    return taken::consumed;
  }
  if (f.what() == form::bundle) {
    take_bundle(what, f.token);
    return taken::consumed;
  }
  if (f.what() == form::by_host) {
    take_by_host(what, f.token);
    return taken::consumed;
  }
  std::size_t const all = header_bytes + what.bytes;
  std::size_t const bytes = what.late ? all : left_of(f, what.peer, what.payload, all);
  if (bytes == 0) return taken::consumed;
  if (!what.late && is_pooled(bytes, f.alignment_log2())) [[likely]] {
    message* const m = make_pooled(f, what.peer, bytes);
    if (what.bytes != 0) std::memcpy(m->payload(), what.payload, bytes - header_bytes);
    deliver(m);
    return taken::consumed;
  }
  announced_message const whole{what.peer, f.kind(), f.alignment_log2(), f.token,
                                bytes,     0,        what.handle,        what.late};
  if (what.late) {
    announced_.push_back(whole);
    ++p.unfetched;
    static_cast<void>(ask_for_announced({}));
    return taken::kept;
  }
  message* const m = make_arrival(whole, admission::always);
  std::memcpy(m->payload(), what.payload, whole.bytes - header_bytes);
  deliver(m);
  return taken::consumed;
}

/// Messages of a bundle are small, and so pooled. Returns how much room that one takes there.
std::size_t network_messages::take_entry(std::byte* at, std::int32_t source) {
  entry e;
  std::memcpy(&e, at, sizeof e);
  if (e.bytes == entry::given_up) return e.room;
  if (std::size_t const credit = e.head.credit(); credit != 0) peer(source).in_use -= credit;
  std::size_t const bytes = left_of(e.head, source, at + sizeof e, header_bytes + e.bytes);
  if (bytes == 0) return e.room;
  message* const m = make_pooled(e.head, source, bytes);
  if (e.bytes != 0) std::memcpy(m->payload(), at + sizeof e, bytes - header_bytes);
  deliver(m);
  return e.room;
}

void network_messages::take_bundle(arrival const& what, std::uint64_t messages) {
  std::byte* at = what.payload;
  for (std::uint64_t i = 0; i < messages; ++i) at += take_entry(at, what.peer);
}

void network_messages::take_announcement(arrival const& what, std::byte const* header) {
  announcement a;
  std::memcpy(&a, header, sizeof a);
  switch (a.head.what()) {
    case form::announced:
      announced_.push_back(
          {what.peer, a.head.kind(), a.head.alignment_log2(), a.head.token, a.bytes, a.number, {}, false});
      static_cast<void>(ask_for_announced({}));
      break;
    case form::wanted:
      start_pieces(peer(what.peer), a.number);
      break;
    case form::passed:
      peer(what.peer).passing -= a.number;
      break;
    default:
      break;  // credit
  }
}

void network_messages::take_piece(arrival const& what) {
  piece part;
  std::memcpy(&part, what.header.data(), sizeof part);
  auto const found = assemblies_.find(key_of(what.peer, part.number));
  if (found == assemblies_.end()) return;
  message* const m = found->second.whole;
  std::memcpy(m->base + part.offset, what.payload, what.bytes);
  found->second.arrived += what.bytes;
  if (found->second.arrived < m->bytes) return;
  assemblies_.erase(found);
  deliver_asked_for(m);
}

void network_messages::notified(std::int32_t from, std::uint64_t tag) {
  if (on_notified) on_notified(from, tag);
}

}  // namespace atl::engine
