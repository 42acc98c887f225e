// How connections end.
//
//   close ────bye────> <───bye──        each says it once all of its own has come to an end
//          <───over── of the higher rank, once it has both; then the lower one closes its endpoint, and the other follows
//
// Nobody closes while there may be something to read: over TCP that would reset the connection, and drop what the peer has
// not read yet. Messages come in their order, so all is there when the peer's bye is; only what answers a peer's own
// messages may still follow a bye, and nothing follows an over.

#include <utility>

#include "transport/ofi/ofi_network.hpp"

namespace atl::transport::ofi {

void ofi_network::give_up(std::int32_t rank) {
  peer* const p = find(rank);
  if (p == nullptr) return;
  if (context_->connectionless() && p->wishes) say_aside(*p, wire::gone, p->wish_number);
  drop_wish(*p);
  if (p->now == peer::link::none || p->lost) return;
  lose(*p, "it was given up");
}

void ofi_network::tend(peer& p) {
  if (p.hung_up && !p.lost) {
    if (!drained_) {  // what it has sent before comes first
      touch(p);
    } else if (!p.agreed()) {
      lose(p, "the other side has closed the connection");
    }
  }
  if (!p.waiting.empty() && (!p.lost || context_->connectionless())) go_on(p);
  if (p.lost) {
    tend_lost(p);
  } else if (p.now == peer::link::closing) {
    tend_closing(p);
  }
  if (!p.wishes || p.lost) return;
  bool const theirs = p.now == peer::link::connecting && p.begun && p.rank < me_;
  if (p.now == peer::link::none || theirs) accept(p);
}

void ofi_network::tend_closing(peer& p) {
  if (p.out != 0 || p.events != 0) return;
  if (!std::exchange(p.said_bye, true)) say_word(p, wire::bye, {});
  if (!p.agreed()) return;
  if (context_->connectionless()) {
    end_connection(p);
    return;
  }
  bool const leads = me_ < p.rank;
  if (!leads && !std::exchange(p.said_over, true)) say_word(p, wire::over, {});
  if (p.agreed() && (p.hung_up || (leads && p.got_over))) end_connection(p);
}

/// libfabric lets go of everything with the endpoint, and what remains is to tell; of one that serves all peers it does not.
void ofi_network::tend_lost(peer& p) {
  if (p.agreed()) {
    end_connection(p);
    return;
  }
  if (p.now == peer::link::connecting && p.begun && p.wishes) {
    accept(p);  // of two requests the other one is left
    return;
  }
  tell_lost(p);
  release_endpoint(p);
  if (context_->connectionless()) let_go(p);
  if (p.out == 0 && p.events == 0) end_connection(p);
}

void ofi_network::end_connection(peer& p) {
  release_endpoint(p);
  p.hung_up = false;
  module_network::end_connection(p);
}

/// With it goes what is under way. libfabric may still name that in its queue, but uses none of its memory.
void ofi_network::release_endpoint(peer& p) {
  if (p.endpoint == nullptr) return;
  if (context_->connectionless()) {
    leave(p);
    return;
  }
  endpoints_.erase(&p.endpoint->fid);
  close_object(p.endpoint);
  release_rails(p);
  p.waiting = {};
  ending_ = true;
  for (record* r = p.first; r != nullptr;) {
    // Children follow their parent, so that what goes with this one stands before it.
    record* const next = r->after;
    if (r->open) part_done(r, outcome::peer_lost);
    r = next;
  }
  ending_ = false;
  for (block* const b : p.receives) dead_blocks_.push(b);
  p.receives.clear();
}

}  // namespace atl::transport::ofi
