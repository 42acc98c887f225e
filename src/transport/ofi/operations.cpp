// What is under way with libfabric: how starts end, what comes back, and flushes.
//
// A record stands for one call of libfabric; those of one operation are chained to the first, which has its events. One for
// which there is no room waits, and the next poll tries again; nothing to the same peer overtakes it.

#include <algorithm>
#include <utility>

#include "transport/ofi/ofi_network.hpp"

namespace atl::transport::ofi {
namespace {

bool is_memory(record::sort what) {
  return what == record::sort::put || what == record::sort::get || what == record::sort::confirm;
}

/// It has to come behind puts.
bool is_message(record::sort what) { return what <= record::sort::aside; }

outcome worse(outcome a, outcome b) { return std::max(a, b); }

}  // namespace

/// Into the peer's chain.
void ofi_network::link(record* r, peer& p) {
  r->whom = &p;
  r->before = p.last;
  r->after = nullptr;
  (p.last != nullptr ? p.last->after : p.first) = r;
  p.last = r;
  ++p.out;
}

void ofi_network::unlink(record* r) {
  peer& p = *r->whom;
  (r->before != nullptr ? r->before->after : p.first) = r->after;
  (r->after != nullptr ? r->after->before : p.last) = r->before;
  --p.out;
}

record* ofi_network::open(peer& p, operation* events, sort what) {
  record* const r = records_.take();
  link(r, p);
  r->address = p.address;
  r->events = events;
  r->what = what;
  r->parts = 1;
  r->epoch = p.epoch;
  r->rail = 0;
  r->how = outcome::ok;
  bool const has_source = what == sort::late || what == sort::put;
  r->source_told = !has_source || events == nullptr || !events->asks(completion::source);
  if (&p != &nobody_) ++live_;
  return r;
}

void ofi_network::drop(record* r) {
  peer& p = *r->whom;
  if (r->memory != nullptr) give(p, r->memory);
  close_object(r->entered);
  unlink(r);
  if (r->what == sort::late) {
    --p.late_out;
    --p.late_of[r->lane];
    lates_.erase(r->tag);
  }
  if (is_memory(r->what) && r->parent == nullptr) --p.memory_out;
  if (r->rail != 0 && r->what != sort::get && --p.rail_puts == 0 && !p.waiting.empty()) touch(p);
  if (&p != &nobody_) --live_;
  if (ending_) {
    dead_records_.push(r);
  } else {
    records_.give(r);
  }
  touch_if_ending(p);
}

// ---- calls of libfabric --------------------------------------------------------------------------

void ofi_network::start(record* r) {
  peer& p = *r->whom;
  r->open = true;
  if (p.endpoint == nullptr || p.lost) {
    part_done(r, outcome::peer_lost);
    return;
  }
  // What confirms a put may be what a message at the head waits for.
  bool const first = r->what == sort::confirm;
  bool const now = first || (p.waiting.empty() && (p.rail_puts == 0 || !is_message(r->what)));
  ssize_t const e = now ? post(r) : -FI_EAGAIN;
  if (e == 0) return;
  if (e == -FI_EAGAIN) {
    first ? p.waiting.push_first(r) : p.waiting.push(r);
    touch(p);
    return;
  }
  error_ = words_of(e);
  lose(p, error_);
  part_done(r, outcome::peer_lost);
}

ssize_t ofi_network::post(record* r) {
  fid_ep* const ep = r->rail == 0 ? r->whom->endpoint : r->whom->rails->mine[r->rail - 1U].endpoint;
  void* const name = static_cast<ticket*>(r);
  switch (r->what) {
    case sort::put: {
      iovec const here{r->near, r->bytes};
      fi_rma_iov const there{r->far, r->bytes, r->key};
      fi_msg_rma const all{&here, &r->descriptor, 1, r->address, &there, 1, name, 0};
      return fi_writemsg(ep, &all, FI_COMPLETION | (context_->says_delivered() ? FI_DELIVERY_COMPLETE : 0));
    }
    case sort::confirm: {
      fid_mr* const entered = r->rail == 0 ? confirmed_entered_ : rails_[r->rail - 1U].confirmed;
      void* const descriptor = entered != nullptr ? fi_mr_desc(entered) : nullptr;
      return fi_read(ep, confirmed_, 1, descriptor, r->address, r->far, r->key, name);
    }
    case sort::get:
    case sort::fetch:
      return fi_read(ep, r->near, r->bytes, r->descriptor, r->address, r->far, r->key, name);
    default: {
      // What libfabric has taken, it may still keep: it has left when it has arrived.
      bool const arrives =
          r->what == sort::bye || (r->events != nullptr && r->events->asks(completion::left));
      if (!arrives) return fi_send(ep, r->near, r->bytes, r->descriptor, r->address, name);
      iovec const here{r->near, r->bytes};
      fi_msg const all{&here, &r->descriptor, 1, r->address, name, 0};
      return fi_sendmsg(ep, &all, FI_COMPLETION | (context_->says_delivered() ? FI_DELIVERY_COMPLETE : 0));
    }
  }
}

/// Those that wait for room, in their order.
void ofi_network::go_on(peer& p) {
  while (!p.waiting.empty()) {
    if (p.rail_puts != 0 && is_message(p.waiting.first->what)) return;  // the last of them looks again
    ssize_t const e = post(p.waiting.first);
    if (e == -FI_EAGAIN) {
      touch(p);
      return;
    }
    record* const r = p.waiting.pop();
    ++moved_;
    if (e == 0) continue;
    if (r->whom == &p) lose(p, words_of(e));
    part_done(r, outcome::peer_lost);
  }
}

void ofi_network::part_done(record* r, outcome how) {
  if (r->what == sort::put && how == outcome::ok && !context_->says_delivered()) {
    // Its last byte, read behind it, comes when the data are there (FI_ORDER_RAW).
    r->what = sort::confirm;
    r->far += std::max<std::uint64_t>(r->bytes, 1) - 1;
    start(r);
    return;
  }
  r->open = false;
  record* const top = r->parent != nullptr ? r->parent : r;
  top->how = worse(top->how, how);
  if (top != r) drop(r);
  if (--top->parts == 0) finish(top);
}

started ofi_network::seal(record* r) {
  bool const pending = --r->parts > 0;
  operation* const events = r->events;
  if (!pending && r->how != outcome::ok) {
    finish(r);
    return under_way_for(events);
  }
  bool const source_free = !pending || r->memory != nullptr;
  bool const wants_source = !r->source_told;
  bool const wants_finish = events != nullptr && events->asks(completion::finished);
  if (source_free) r->source_told = true;
  if (!pending) {
    r->events = nullptr;  // nothing is left to be told
    finish(r);
    return started::complete;
  }
  if (!wants_finish && (!wants_source || source_free)) return started::complete;
  return wants_source && source_free ? started::source_free : started::under_way;
}

void ofi_network::finish(record* r) {
  conclude(r);
  drop(r);
}

/// Says and counts what has come of it.
void ofi_network::conclude(record* r) {
  peer& p = *r->whom;
  outcome const how = r->how;
  if (how != outcome::ok && error_.empty()) error_ = "the connection was lost";
  if (!r->source_told) say(r->events, &p, completion::source, how);
  say(r->events, &p, completion::left, how);
  bool const waited_for = r->events != nullptr && r->events->asks(completion::finished);
  if (waited_for && r->what != sort::late) {
    say(r->events, &p, completion::finished, how);
  } else if (r->what == sort::put || r->what == sort::confirm) {
    p.silent = worse(p.silent, how);
  }
  if (r->notifies && how == outcome::ok) say_word(p, wire::note, std::as_bytes(std::span(&r->tag, 1)));
  if (r->what == sort::fetch && how == outcome::ok) {
    say_word(p, wire::late_done, std::as_bytes(std::span(&r->tag, 1)));
  }
  if (r->what == sort::put || r->what == sort::confirm) put_over(p, r->epoch);
}

// ---- flushes -------------------------------------------------------------------------------------

/// Puts between two flushes are counted together; a flush is over when all before it are.
void ofi_network::put_over(peer& p, std::uint32_t epoch) {
  if (epoch == p.epoch) {
    --p.puts_out;
    return;
  }
  --p.flushes[p.flushes.size() - (p.epoch - epoch)].left;
  while (!p.flushes.empty() && p.flushes.front().left == 0) {
    flush_point const next = p.flushes.front();
    p.flushes.pop_front();
    flush_over(p, next);
  }
}

void ofi_network::flush_over(peer& p, flush_point const& point) {
  outcome const before = std::exchange(p.silent, outcome::ok);
  outcome const how = p.lost ? worse(before, outcome::peer_lost) : before;
  if (point.of != nullptr) {
    flushed_one(point.of, how);
  } else {
    say(point.events, &p, completion::finished, how);
  }
}

started ofi_network::flush_one(peer& p, operation* events, many_flushes* of) {
  bool const waits = p.puts_out != 0 || !p.flushes.empty();
  if (!waits && p.silent == outcome::ok) return started::complete;
  if (of != nullptr) ++of->left;
  if (waits) {
    p.flushes.push_back({events, of, std::exchange(p.puts_out, 0)});
    ++p.epoch;
  } else {
    flush_over(p, {events, of, 0});
  }
  return under_way_for(events);
}

}  // namespace atl::transport::ofi
