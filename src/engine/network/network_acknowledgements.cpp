// Acknowledgements that leave with other messages.
//
// Nobody at this rank waits for an acknowledgement, but the peer may, and this rank may be about to compute for long. So it leaves at once,
// unless those before it were followed at once by a message to the same peer (acknowledgement_habit.hpp). Then it begins a bundle, in
// which the next message to that peer leaves, and which this rank's next progress at any level sends if there is none. Until then it counts as
// unsent, as all in bundles.
//
// Whether it was followed is known when the rank begins a message to that peer, or makes progress again: `last_acknowledged` says
// how far that has come.

#include <bit>
#include <cstring>

#include "engine/network/decision_clock.hpp"
#include "engine/network/frames.hpp"

namespace atl::engine {

using transport::buffer_alignment;
using transport::header_bytes;
using transport::index_of;
using transport::lane;
using transport::message_kind;
using transport::outgoing;

bool network_messages::acknowledge(std::int32_t target, std::uint64_t token,
                                   std::span<std::byte const> payload) {
  if (!bundles_) return send_at_once(target, token, payload);
  if (by_host_ && send_by_host(target, token, payload)) return true;
  network_peer& p = peer(target);
  message_bundle& b = p.bundles[index_of(lane::control)];
  outgoing out;
  out.target = target;
  out.way = lane::control;
  std::size_t const bytes = header_bytes + payload.size();
  bool const waits = b.waits || (!b.begun && !b.in_burst && p.habit.may_wait());
  if (!may_leave(p, out.way, bytes)) return false;
  if (!(waits ? begin_bundled(p, out, bytes, buffer_alignment)
              : begin_unobserved(p, out, bytes, buffer_alignment)))
    return false;
  std::memcpy(out.begin + header_bytes, payload.data(), payload.size());
  if (waits) {
    commit_bundled(p, out, message_kind::active, token, bytes);
    b.waits = true;
    look_after_bundles(p);
  } else {
    commit_in_place(out, message_kind::active, token, bytes);
  }
  // Of several only the first is observed: the clock costs as much as a small message of a flood.
  if (p.lately == last_acknowledged::in_this_call) return true;
  if (p.lately == last_acknowledged::before) stop_watching(p);
  p.lately = last_acknowledged::in_this_call;
  p.habit.acknowledged(decision_clock::now_ns(), waits);
  return true;
}

/// A message to that peer begins.
void network_messages::note_following(network_peer& p) noexcept {
  p.habit.followed(decision_clock::now_ns());
  if (p.lately == last_acknowledged::before) --watched_;
  p.lately = last_acknowledged::nothing;
}

/// A message to that peer has left, or stands behind the acknowledgements that have waited for it.
void network_messages::send_acknowledgements(network_peer& p) {
  if (!p.bundles[index_of(lane::control)].waits || !close_bundle(p, lane::control)) return;
  follow_burst(p, lane::control);
  note_unsent();
}

/// At the end of a call of progress. True if what it has acknowledged is observed further, and what waits of that stays.
bool network_messages::keep_acknowledgements(network_peer& p) noexcept {
  if (p.lately == last_acknowledged::before) stop_watching(p);
  if (p.lately == last_acknowledged::nothing || ending_) return false;
  p.lately = last_acknowledged::before;
  ++watched_;
  return true;
}

/// Nothing has followed.
void network_messages::stop_watching(network_peer& p) noexcept {
  p.habit.passed(p.habit.waits() ? decision_clock::now_ns() : 0);
  p.lately = last_acknowledged::nothing;
  --watched_;
}

/// The same of all peers, at the begin of a call of progress: what still waits leaves.
void network_messages::stop_watching() {
  for (network_peer* const p : bundling_) {
    if (p->lately != last_acknowledged::before) continue;
    stop_watching(*p);
    if (p->bundles[index_of(lane::control)].waits && close_bundle(*p, lane::control)) stirred_ = true;
  }
}

}  // namespace atl::engine
