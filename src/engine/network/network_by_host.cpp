// Messages that leave together for all ranks of a host.
//
// Where each rank of a host sends to any rank of another, bundles per rank are nearly empty. So messages to all ranks of a host travel in one bundle,
// to the rank there that has the sender's place within its host: its counterpart, which differs for each rank of this host. It passes each on to its
// target through shared memory, as a message of the engine's.
//
// Nothing waits for that. A message may go this way if it needs no place in an order, and does if the counterpart has not more of this rank's than
// the credit. Else it goes to its target directly. So the way adds nothing to what a message may wait for, and the counterpart's memory has a
// bound. Credit for requests stays between sender and target.

#include <algorithm>
#include <cstring>
#include <span>
#include <utility>

#include "engine/network/frames.hpp"

namespace atl::engine {

using transport::arrival;
using transport::header_bytes;
using transport::index_of;
using transport::lane;
using transport::message;
using transport::message_kind;
using transport::outgoing;

namespace {

/// What a part of a bundle begins with that is passed on to one rank.
struct passed_head {
  std::int64_t source;  ///< world rank
};

/// Bytes of such a part: it fits into a place of a ring.
constexpr std::size_t most_passed = transport::pooled_room[2] - header_bytes;

}  // namespace

/// For a peer that has just been met.
void network_messages::find_counterpart(network_peer& p) {
  std::int32_t const rank = shape_.counterpart_of(p.rank);
  if (rank < 0) return;
  p.counterpart = rank == p.rank ? &p : &find_peer(rank);
  if (p.counterpart != &p) ++p.counterpart->counterpart_of;
}

/// The first small message of a burst to a host leaves at once, directly; those that follow may go by way of the counterpart. False: this
/// one does not.
bool network_messages::begin_by_host(network_peer& p, outgoing& out, std::size_t bytes,
                                     std::size_t alignment) {
  network_peer* const via = p.counterpart;
  if (via == nullptr || bytes > most_bundled || alignment > transport::buffer_alignment) return false;
  message_bundle& b = via->by_host;
  if (!b.in_burst) {
    if (!connect(*via)) return false;
    b.in_burst = true;
    look_after_bundles(*via);
    return false;
  }
  bool const request = out.way == lane::request;
  if (via->link != link_state::open || (request && !has_credit(p, bytes))) return false;
  std::size_t const room = room_of(bytes);
  if (via->passing + b.used + room > shape_.credit) return false;
  if (b.begun && b.used + room > b.buffer.capacity && !close_by_host(*via)) return false;
  if (!b.begun && !begin_bundle(*via, lane::control, room, b)) return false;
  begin_entry(b, out, bytes, alignment);
  out.position = in_bundle_by_host;
  if (request) p.in_use += cost_of(bytes);
  return true;
}

void network_messages::commit_by_host(network_peer& p, outgoing const& out, message_kind kind,
                                      std::uint64_t token, std::size_t bytes) {
  commit_entry(p.counterpart->by_host, out, frame_of(p, kind, token, out.alignment_log2), bytes);
}

/// False: it is being written. True also if there is none.
bool network_messages::close_by_host(network_peer& via) {
  message_bundle& b = via.by_host;
  if (!b.begun) return true;
  if (b.open != 0) return false;
  via.last_use = ++uses_;
  via.passing += b.used;
  return end_bundle(via, b, form::by_host, b.messages | std::uint64_t{std::exchange(via.passed, 0)} << 32);
}

/// A request that waits for its target. False: it goes on waiting, or directly.
bool network_messages::send_first_by_host(network_peer& p) {
  waiting_messages& queue = p.waiting[index_of(lane::request)];
  message* const m = queue.first;
  outgoing out;
  out.target = p.rank;
  out.way = lane::request;
  // `period` is the binary logarithm of what it is aligned to while it is on its way out.
  if (kept_back_of(*m) != nullptr || !begin_by_host(p, out, m->bytes, std::size_t{1} << m->period))
    return false;
  std::memcpy(out.begin + header_bytes, m->payload(), m->bytes - header_bytes);
  commit_by_host(p, out, m->kind, m->token, m->bytes);
  static_cast<void>(queue.pop());
  --waiting_;
  drop_sent(m);
  return true;
}

/// The whole of a message that needs no place in an order. False: it has to go directly.
bool network_messages::send_by_host(std::int32_t target, std::uint64_t token,
                                    std::span<std::byte const> payload) {
  network_peer& p = peer(target);
  std::size_t const bytes = header_bytes + payload.size();
  outgoing out;
  out.target = target;
  out.way = lane::control;
  if (!begin_by_host(p, out, bytes, transport::buffer_alignment)) return false;
  std::memcpy(out.begin + header_bytes, payload.data(), payload.size());
  commit_by_host(p, out, message_kind::active, token, bytes);
  return true;
}

// ---- at the counterpart, and at the target -------------------------------------------------------

/// A bundle for ranks of this host.
void network_messages::take_by_host(arrival const& what, std::uint64_t token) {
  network_peer& from = peer(what.peer);
  from.passing -= token >> 32;
  auto const messages = static_cast<std::uint32_t>(token);
  // Those for one rank together, and in order.
  others_.clear();
  std::byte* at = what.payload;
  for (std::uint32_t i = 0; i < messages; ++i) {
    entry e;
    std::memcpy(&e, at, sizeof e);
    if (e.target == shape_.rank) {
      take_entry(at, what.peer);
    } else if (e.bytes != entry::given_up) {
      others_.push_back(std::uint64_t{static_cast<std::uint32_t>(e.target)} << 32 |
                        static_cast<std::uint64_t>(at - what.payload));
    }
    at += e.room;
  }
  std::sort(others_.begin(), others_.end());
  passing_on& mine = passing_on_.emplace_back(passing_on{what.peer, what.bytes, 0});
  for (std::size_t i = 0; i < others_.size();) i = pass_on(mine, what.payload, i);
  static_cast<void>(tell_passed());
}

/// Sends the first of `others_` from there, and as many as fit behind it. Returns where those end.
std::size_t network_messages::pass_on(passing_on& what, std::byte const* bundle, std::size_t i) {
  std::byte part[most_passed];
  passed_head const head{what.source};
  std::memcpy(part, &head, sizeof head);
  std::size_t used = sizeof head;
  std::uint64_t const target = others_[i] >> 32;
  for (; i < others_.size() && others_[i] >> 32 == target; ++i) {
    std::byte const* const from = bundle + static_cast<std::uint32_t>(others_[i]);
    entry e;
    std::memcpy(&e, from, sizeof e);
    if (used + e.room > sizeof part) break;
    std::memcpy(part + used, from, e.room);
    used += e.room;
  }
  shape_.pass_on(static_cast<std::int32_t>(target), {part, used}, what.kept_back);
  return i;
}

/// What has been passed on no longer counts against its sender. True if there was any.
bool network_messages::tell_passed() {
  std::size_t const before = passing_on_.size();
  std::erase_if(passing_on_, [this](passing_on const& each) {
    if (each.kept_back != 0) return false;
    network_peer& source = peer(each.source);
    source.passed += each.bytes;
    if (source.passed >= credit_to_return) list(source);
    return true;
  });
  return passing_on_.size() != before;
}

void network_messages::take_passed(std::span<std::byte> part) {
  passed_head head;
  std::memcpy(&head, part.data(), sizeof head);
  for (std::size_t at = sizeof head; at < part.size();)
    at += take_entry(part.data() + at, static_cast<std::int32_t>(head.source));
}

}  // namespace atl::engine
