// Messages that leave, each as one run of bytes: wire header, header, payload. Short ones are copied by libfabric at once;
// others lie in blocks of ours. Payloads that are too long for that stay where they are: the peer is told where, reads them
// when it has memory for them, and says when it has.

#include <algorithm>
#include <array>
#include <cstring>

#include "transport/ofi/ofi_network.hpp"
#include "transport/ofi/windows.hpp"

namespace atl::transport::ofi {
namespace {

std::uint8_t kind_in(lane where, bool late) {
  if (where == lane::request) return late ? wire::late_request : wire::request;
  return late ? wire::late_control : wire::control;
}

}  // namespace

/// For a payload of so many bytes; null: there is no memory, or too many of the longest are out.
block* ofi_network::take(peer& p, std::size_t payload) {
  bool const is_long = payload > large_payload;
  if (is_long && p.long_out >= most_long) return nullptr;
  block* const b = (is_long ? long_ : payload <= small_payload ? small_ : large_).take();
  if (b == nullptr) error_ = "there is no memory for messages";
  if (b != nullptr && is_long) ++p.long_out;
  return b;
}

void ofi_network::give(peer& p, block* b) noexcept {
  if (b->room == long_.room()) --p.long_out;
  give(b);
}

/// One into which a message has arrived, or that has not been taken for a peer.
void ofi_network::give(block* b) noexcept {
  (b->room == long_.room() ? long_ : b->room == large_.room() ? large_ : small_).give(b);
}

/// Writes what stands in front of a payload. The peer learns what of its messages has been taken.
void ofi_network::fill(peer& p, std::byte* to, std::uint8_t what, std::span<std::byte const> header) {
  wire w{};
  w.from = me_;
  w.number = p.number;
  w.header = static_cast<std::uint16_t>(header.size());
  w.what = what;
  for (std::size_t lane : {0, 1}) {
    w.taken[lane] = static_cast<std::uint8_t>(p.taken[lane]);  // less than a window
    p.taken[lane] = 0;
  }
  std::memcpy(to, &w, sizeof w);
  if (!header.empty()) std::memcpy(to + sizeof w, header.data(), header.size());
}

/// Sends what is short enough for libfabric to copy. False: there is no room, and nothing has happened.
bool ofi_network::inject(peer& p, std::uint8_t what, std::span<std::byte const> header, void const* payload,
                         std::size_t bytes) {
  alignas(8) std::array<std::byte, longest_inject> whole;
  std::size_t const at = payload_at(header.size());
  std::size_t const taken[2]{p.taken[0], p.taken[1]};
  fill(p, whole.data(), what, header);
  if (bytes != 0) std::memcpy(whole.data() + at, payload, bytes);
  ssize_t const e = fi_inject(p.endpoint, whole.data(), at + bytes, p.address);
  if (e == 0) return true;
  std::copy(std::begin(taken), std::end(taken), std::begin(p.taken));
  if (e != -FI_EAGAIN) lose(p, words_of(e));
  return false;
}

/// A word between networks of this sort, with no event.
void ofi_network::say_word(peer& p, wire::kind what, std::span<std::byte const> body) {
  if (p.endpoint == nullptr || p.lost || p.now == peer::link::none) return;
  std::size_t const bytes = sizeof(wire) + body.size();
  bool const has_to_arrive = what == wire::bye && context_->connectionless();
  bool const short_one = bytes <= inject_ && p.waiting.empty() && p.rail_puts == 0 && !has_to_arrive;
  if (short_one && inject(p, what, {}, body.data(), body.size())) return;
  if (p.lost) return;
  block* const b = small_.take();
  if (b == nullptr) {
    lose(p, "there is no memory for messages");
    return;
  }
  fill(p, b->begin(), what, {});
  if (!body.empty()) std::memcpy(b->begin() + sizeof(wire), body.data(), body.size());
  record* const r = open(p, nullptr, has_to_arrive ? sort::bye : sort::word);
  r->memory = b;
  r->near = b->begin();
  r->descriptor = b->descriptor;
  r->bytes = bytes;
  start(r);
}

/// Does the wire have what is sent now as soon as it is sent? It has room when little but this is under way, and nothing that this
/// side does not know of: who has a key may get memory through the same wire at any time. A layer between (of one endpoint for all
/// peers) may keep messages for reasons of its own.
bool ofi_network::leaves_at_once(peer const& p) const noexcept {
  return !context_->connectionless() && !keys_are_out_ && p.out == 0 && p.sent.wire_is_empty();
}

started ofi_network::send(std::int32_t rank, lane where, std::span<std::byte const> header,
                          local_place payload, std::size_t bytes, operation* events) {
  peer* p = nullptr;
  if (started const s = may_send(rank, where, header.size(), bytes, events, p); s != started::complete)
    return s;
  if (bytes > sizes_.eager) return send_late(*p, where, header, payload, bytes, events);
  std::size_t const at = payload_at(header.size());
  bool const tells = events != nullptr && events->asks(completion::left) && !leaves_at_once(*p);
  if (at + bytes <= inject_ && !tells && p->rail_puts == 0) {
    if (!inject(*p, kind_in(where, false), header, payload.address, bytes)) return started::no_room;
    --p->room[lane_of(where)];
    p->sent.note_sent();
    return started::complete;
  }
  network_buffer buffer;
  if (started const s = begin(rank, where, header.size(), bytes, bytes, buffer); s != started::complete) {
    return s;
  }
  if (bytes != 0) std::memcpy(buffer.payload, payload.address, bytes);
  send_block(*p, block_of(buffer), where, header, bytes, tells ? events : nullptr);
  return tells ? started::under_way : started::complete;
}

started ofi_network::send_late(peer& p, lane where, std::span<std::byte const> header, local_place payload,
                               std::size_t bytes, operation* events) {
  if (p.late_of[lane_of(where)] >= most_late) return started::no_room;
  fid_mr* entered = nullptr;
  registration const* const known = payload.memory;
  if (known == nullptr && !enter(*context_, payload.address, bytes, FI_REMOTE_READ, entered))
    return started::unsupported;
  fid_mr* const memory = known != nullptr ? known->handle : entered;
  void const* const begins = known != nullptr ? known->begin : payload.address;
  late_payload const where_it_is{context_->far_address(begins, payload.address), fi_mr_key(memory), bytes,
                                 ++last_late_};
  network_buffer buffer;
  started const s = begin(p.rank, where, header.size(), sizeof where_it_is, sizeof where_it_is, buffer);
  if (s != started::complete) {
    close_object(entered);
    return s;
  }
  record* const r = open(p, events, sort::late);
  r->lane = static_cast<std::uint8_t>(lane_of(where));
  ++p.late_out;
  ++p.late_of[r->lane];
  r->entered = entered;
  r->tag = where_it_is.number;
  r->open = true;
  lates_[r->tag] = r;
  std::memcpy(buffer.payload, &where_it_is, sizeof where_it_is);
  send_block(p, block_of(buffer), where, header, sizeof where_it_is, nullptr, true);
  return started::under_way;
}

/// Sends what lies in a block. `events`: told when it has left; `late`: it says where a late payload is.
void ofi_network::send_block(peer& p, block* b, lane where, std::span<std::byte const> header,
                             std::size_t bytes, operation* events, bool late) {
  std::size_t const at = payload_at(header.size());
  std::uint8_t const what = kind_in(where, late);
  if (bytes > limits_.inline_bytes) p.sent.note_bulk();
  if (events == nullptr && at + bytes <= inject_ && p.waiting.empty() && p.rail_puts == 0 &&
      inject(p, what, header, b->begin() + at, bytes)) {
    p.sent.note_sent();
    give(p, b);
    --p.out;
    touch_if_ending(p);
    return;
  }
  fill(p, b->begin(), what, header);
  p.sent.note_sent();
  record* const r = open(p, events, sort::message);
  --p.out;  // the buffer's
  r->memory = b;
  r->near = b->begin();
  r->descriptor = b->descriptor;
  r->bytes = at + bytes;
  start(r);
}

}  // namespace atl::transport::ofi
