// Messages. Those that are written in place, and short ones, leave as one run of bytes: wire header, header, payload; that is
// what libucp is quickest with. Others have their headers in the header of libucp's message, and their payload with its owner.

#include <algorithm>
#include <cstring>

#include "transport/ucx/ucx_network.hpp"

namespace atl::transport::ucx {
namespace {

enum : unsigned { whole_id, split_id };
/// To a peer under way in the largest blocks.
constexpr std::size_t most_largest = 8;

std::uint8_t kind_in(lane where) { return where == lane::request ? wire::request : wire::control; }

}  // namespace

void ucx_network::set_receivers() {
  ucp_am_handler_param_t how{};
  how.field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_FLAGS |
                   UCP_AM_HANDLER_PARAM_FIELD_CB | UCP_AM_HANDLER_PARAM_FIELD_ARG;
  how.flags = UCP_AM_FLAG_WHOLE_MSG;
  how.arg = this;
  how.id = whole_id;
  how.cb = &on_whole;
  static_cast<void>(ucp.worker_set_am_recv_handler(context_->worker(), &how));
  how.id = split_id;
  how.cb = &on_split;
  static_cast<void>(ucp.worker_set_am_recv_handler(context_->worker(), &how));
}

/// For a payload of so many bytes; null: too many of the largest are out.
block* ucx_network::take(peer& p, std::size_t payload) {
  bool const is_largest = payload > block_pool::large;
  if (is_largest && p.largest_out >= most_largest) return nullptr;
  block* const b = blocks_.take(payload);
  p.largest_out += is_largest ? 1U : 0U;
  return b;
}

/// Writes what stands in front of a payload.
void ucx_network::fill(peer const& p, std::byte* to, std::uint8_t what,
                       std::span<std::byte const> header) const {
  wire const w{me_,    p.theirs,
               p.mine, static_cast<std::uint8_t>(header.size()),
               what,   static_cast<std::uint16_t>(p.got)};
  std::memcpy(to, &w, sizeof w);
  if (!header.empty()) std::memcpy(to + sizeof w, header.data(), header.size());
}

/// The record's block, as it stands.
void ucx_network::post_block(record* r, std::size_t bytes) {
  ucp_request_param_t all = parameters(r, nullptr);
  all.op_attr_mask |= UCP_OP_ATTR_FIELD_FLAGS;
  all.flags = UCP_AM_SEND_FLAG_EAGER;
  started_part(r, ucp.am_send_nbx(r->whom->endpoint, whole_id, nullptr, 0, r->memory->begin(), bytes, &all));
}

started ucx_network::post_whole(record* r, std::size_t bytes) {
  post_block(r, bytes);
  return seal(r);
}

/// Writes a word into a block of the record's; returns its length.
std::size_t ucx_network::write_word(record* r, wire::kind what, std::span<std::byte const> body) {
  r->memory = blocks_.take(body.size());
  fill(*r->whom, r->memory->begin(), what, {});
  if (!body.empty()) std::memcpy(r->memory->begin() + wire_bytes, body.data(), body.size());
  return wire_bytes + body.size();
}

/// A word between networks of this sort, with no event; of a bye it is waited until it has arrived.
void ucx_network::say_word(peer& p, wire::kind what, std::span<std::byte const> body) {
  record* const r = open(p, nullptr, what == wire::bye ? sort::last_word : sort::word);
  r->flush_follows = what == wire::bye;
  static_cast<void>(post_whole(r, write_word(r, what, body)));
}

started ucx_network::send(std::int32_t rank, lane where, std::span<std::byte const> header,
                          local_place payload, std::size_t bytes, operation* events) {
  peer* p = nullptr;
  if (started const s = may_send(rank, where, header.size(), bytes, events, p); s != started::complete)
    return s;
  bool const whole = bytes <= limits_.inline_bytes;
  bool const tells = events != nullptr && events->asks(completion::left);
  record* const r = open(*p, whole && !tells ? nullptr : events, sort::message);
  r->lane = static_cast<std::uint8_t>(where);
  --p->room[r->lane];
  if (!whole) p->sent.note_bulk();
  p->sent.note_sent();
  r->memory = blocks_.take(whole ? bytes : 0);
  std::byte* const memory = r->memory->begin();
  fill(*p, memory, kind_in(where), header);
  if (whole) {
    std::size_t const at = payload_at(header.size());
    if (bytes != 0) std::memcpy(memory + at, payload.address, bytes);
    return post_whole(r, at + bytes);
  }
  ucp_request_param_t all = parameters(r, nullptr);
  all.op_attr_mask |= UCP_OP_ATTR_FIELD_FLAGS;
  all.flags = bytes > sizes_.eager ? UCP_AM_SEND_FLAG_RNDV : UCP_AM_SEND_FLAG_EAGER;
  started_part(r, ucp.am_send_nbx(p->endpoint, split_id, memory, wire_bytes + header.size(), payload.address,
                                  bytes, &all));
  return seal(r);
}

/// Sends what was written in place.
void ucx_network::send_block(peer& p, block* b, lane where, std::span<std::byte const> header,
                             std::size_t bytes) {
  record* const r = open(p, nullptr, sort::message);
  --p.out;  // the buffer's
  r->lane = static_cast<std::uint8_t>(where);
  r->memory = b;
  if (bytes > limits_.inline_bytes) p.sent.note_bulk();
  p.sent.note_sent();
  fill(p, b->begin(), kind_in(where), header);
  static_cast<void>(post_whole(r, payload_at(header.size()) + bytes));
}

// ---- arriving ------------------------------------------------------------------------------------

ucs_status_t ucx_network::on_whole(void* self, void const* /*header*/, std::size_t /*header_bytes*/,
                                   void* data, std::size_t bytes, ucp_am_recv_param_t const* how) {
  auto& me = *static_cast<ucx_network*>(self);
  auto* const begin = static_cast<std::byte*>(data);
  wire w;
  if (bytes < sizeof w || me.target_ == nullptr) return UCS_OK;
  std::memcpy(&w, begin, sizeof w);
  if (w.what > wire::control) return me.take_word(w, {begin + sizeof w, bytes - sizeof w});
  std::size_t const at = payload_at(w.header);
  if (bytes < at) return UCS_OK;
  arrival what;
  what.header = {begin + sizeof w, w.header};
  what.payload = begin + at;
  what.bytes = bytes - at;
  return me.take_message(w, what, data, how->recv_attr);
}

ucs_status_t ucx_network::on_split(void* self, void const* header, std::size_t header_bytes, void* data,
                                   std::size_t bytes, ucp_am_recv_param_t const* how) {
  auto& me = *static_cast<ucx_network*>(self);
  wire w;
  if (header_bytes < sizeof w || me.target_ == nullptr) return UCS_OK;
  std::memcpy(&w, header, sizeof w);
  arrival what;
  what.header = {static_cast<std::byte const*>(header) + sizeof w, header_bytes - sizeof w};
  what.late = (how->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV) != 0;
  what.payload = what.late ? nullptr : static_cast<std::byte*>(data);
  what.bytes = bytes;
  return me.take_message(w, what, data, how->recv_attr);
}

/// The peer whose connection a message belongs to; null: it is of one that has ended.
peer* ucx_network::connected_by(wire const& w) {
  peer* const p = find(w.from);
  if (p == nullptr || p->now == peer::link::none || w.to_number != p->mine) return nullptr;
  if (p->now == peer::link::connecting) stands(*p, w.from_number);
  p->sent.note_seen(w.seen);
  return p;
}

ucs_status_t ucx_network::take_message(wire const& w, arrival& what, void* data, std::uint64_t attributes) {
  peer* const p = connected_by(w);
  if (p == nullptr) return UCS_OK;  // also gives a late payload up
  ++p->got;
  touch_if_ending(*p);
  what.peer = w.from;
  what.lane = w.what == wire::request ? lane::request : lane::control;
  what.may_keep = (attributes & UCP_AM_RECV_ATTR_FLAG_DATA) != 0;
  ++told_;
  if (!what.late && !what.may_keep) {
    static_cast<void>(target_->arrived(what));
    return UCS_OK;
  }
  auto* const k = new kept_message{data, what.bytes, p, p->generation, true, false, false};
  kept_.insert(k);
  what.handle = {k, 0};
  bool const keeps = target_->arrived(what) == taken::kept;
  k->in_callback = false;
  if (keeps && !k->fetched && !k->released) return UCS_INPROGRESS;
  bool const fetched = k->fetched;
  kept_.erase(k);
  delete k;
  return fetched ? UCS_INPROGRESS : UCS_OK;
}

started ucx_network::fetch(arrival_handle what, local_place into, operation* events) {
  auto* const k = static_cast<kept_message*>(what.record);
  peer& p = *k->whom;
  if (p.generation != k->generation || p.lost || p.now == peer::link::none) return started::unreachable;
  record* const r = open(p, events, sort::fetch);
  ucp_request_param_t all = parameters(r, into.memory);
  all.cb.recv_am = &on_received;
  ucs_status_ptr_t const started_now =
      ucp.am_recv_data_nbx(context_->worker(), k->data, into.address, k->bytes, &all);
  if (k->in_callback) {
    k->fetched = true;
  } else {
    kept_.erase(k);
    delete k;
  }
  started_part(r, started_now);
  return seal(r);
}

void ucx_network::release(arrival_handle what) {
  auto* const k = static_cast<kept_message*>(what.record);
  if (k->in_callback) {
    k->released = true;
    return;
  }
  ucp.am_data_release(context_->worker(), k->data);
  kept_.erase(k);
  delete k;
}

ucs_status_t ucx_network::take_word(wire const& w, std::span<std::byte const> body) {
  if (w.what == wire::hello) {
    take_hello(w, body);
    return UCS_OK;
  }
  peer* const p = connected_by(w);
  if (p == nullptr) return UCS_OK;
  std::uint64_t number = 0;
  std::memcpy(&number, body.data(), std::min(body.size(), sizeof number));
  switch (w.what) {
    case wire::bye:
      p->sent_by_peer = number;
      take_bye(*p);
      break;
    case wire::note:
      ++p->got;
      ++told_;
      touch_if_ending(*p);
      target_->notified(w.from, number);
      break;
    case wire::gone:
      lose(*p, "the other side has given this rank up");
      break;
    default:
      break;
  }
  return UCS_OK;
}

}  // namespace atl::transport::ucx
