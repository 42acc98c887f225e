// Connections where one endpoint serves all peers: an agreement by messages, as nothing below begins or ends with it.
//
//   connect ──hello──>            the other side accepts, and says ack: its messages come behind it
//   close ────bye────> <───bye──  each says it once all of its own has come to an end, and waits for it to arrive
//   loss  ────gone───>            the other side loses the connection, too
//         ───let_go──>            what the sender had under way has ended; so memory that it was to read is free
//
// libfabric cannot be told to end what is under way to one peer, and where that does not poll it may never end. So after a
// loss what uses the caller's memory stays the peer's, which is not closed before. What uses none becomes nobody's.

#include <cstring>
#include <utility>
#include <vector>

#include "transport/ofi/ofi_network.hpp"
#include "transport/ofi/windows.hpp"

namespace atl::transport::ofi {

void ofi_network::say_hello(peer& p, std::span<std::byte const> to) {
  if (p.address == FI_ADDR_UNSPEC) p.address = context_->insert(to, error_);
  if (p.address == FI_ADDR_UNSPEC) {
    lose(p, error_);
    return;
  }
  own_endpoint(p, context_->endpoint());
  std::vector<std::byte> introduction(sizeof job_);
  std::memcpy(introduction.data(), &job_, sizeof job_);
  introduction.insert(introduction.end(), context_->address().begin(), context_->address().end());
  say_word(p, wire::hello, introduction);
}

/// A word that belongs to no connection which stands.
void ofi_network::say_aside(peer& p, wire::kind what, std::uint32_t number) {
  block* const b = p.address != FI_ADDR_UNSPEC ? small_.take() : nullptr;
  if (b == nullptr) return;
  wire w{};
  w.from = me_;
  w.number = number;
  w.what = what;
  std::memcpy(b->begin(), &w, sizeof w);
  record* const r = open(nobody_, nullptr, sort::aside);
  r->address = p.address;
  r->tag = static_cast<std::uint64_t>(p.rank);
  r->memory = b;
  r->near = b->begin();
  r->descriptor = b->descriptor;
  r->bytes = sizeof w;
  r->open = true;
  p.waiting.push(r);
  go_on(p);
}

/// Where the wire below has broken, libfabric makes another one for what comes next.
bool ofi_network::say_again(record* r) {
  if (r->what != sort::aside || r->epoch == most_repeats) return false;
  ++r->epoch;
  peer& p = *find(static_cast<std::int32_t>(r->tag));
  p.waiting.push(r);
  touch(p);
  return true;
}

void ofi_network::take_agreement(wire const& w, std::span<std::byte const> body) {
  if (!context_->connectionless() || !may_be_peer(w.from)) return;
  if (w.what == wire::hello) {
    std::span<std::byte const> to;
    if (!is_of_this_job(body) || !context_->reads_address(body.subspan(sizeof job_), to)) return;
    peer& p = make(w.from);
    if (p.address == FI_ADDR_UNSPEC) p.address = context_->insert(to, error_);
    if (p.address != FI_ADDR_UNSPEC) take_request(p, w.number, nullptr);
    return;
  }
  peer* const p = find(w.from);
  if (p == nullptr || p->now == peer::link::none || w.number != p->number) return;
  if (w.what == wire::ack && p->now == peer::link::connecting && !p->lost) stands(*p, nullptr);
  if (w.what == wire::gone) lose(*p, "the other side has given this rank up");
  if (w.what == wire::let_go) {
    p->got_over = true;
    touch(*p);
  }
}

/// The endpoint stays.
void ofi_network::leave(peer& p) {
  fifo<record> waiting = std::exchange(p.waiting, {});
  while (!waiting.empty()) {
    record* const r = waiting.pop();
    if (r->whom == &nobody_) {
      p.waiting.push(r);
    } else {
      part_done(r, outcome::peer_lost);  // libfabric has not heard of it
    }
  }
  p.endpoint = nullptr;
  if (!p.lost || p.agreed()) return;
  say_aside(p, wire::gone, p.number);
  for (record* r = p.first; r != nullptr;) {
    // Children follow their parent.
    record* const next = r->after;
    if (r->parent != nullptr ? r->parent->whom == &nobody_ : r->memory != nullptr) {
      disown(r);
    } else if (r->what == sort::late && r->entered != nullptr) {
      part_done(r, outcome::peer_lost);  // the peer's key ends with it
    }
    r = next;
  }
}

/// Tells the peer that nothing of this side's touches its memory any more, and ends what waits to hear that from it.
void ofi_network::let_go(peer& p) {
  if (p.out == p.late_out && !std::exchange(p.said_over, true)) say_aside(p, wire::let_go, p.number);
  if (!p.got_over) return;
  for (record* r = p.first; r != nullptr;) {
    record* const next = r->after;
    if (r->what == sort::late) part_done(r, outcome::peer_lost);
    r = next;
  }
}

/// All is told now; libfabric keeps it until it is done.
void ofi_network::disown(record* r) {
  if (r->parent == nullptr) {
    r->how = outcome::peer_lost;
    conclude(r);
    if (r->what == sort::put || r->what == sort::confirm) --r->whom->memory_out;
  }
  unlink(r);
  link(r, nobody_);
  --live_;
  r->what = sort::word;
  r->events = nullptr;
  r->source_told = true;
}

}  // namespace atl::transport::ofi
