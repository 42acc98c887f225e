// What arrives: messages in blocks that were posted, and what libfabric has done with records.

#include <algorithm>
#include <array>
#include <cstring>

#include "transport/ofi/ofi_network.hpp"
#include "transport/ofi/windows.hpp"

namespace atl::transport::ofi {
namespace {

constexpr std::size_t entries_at_once = 16;
/// A poll ends when messages have been shown, so that what they cause comes before the next ones.
constexpr int most_reads_a_poll = 8;

}  // namespace

/// Fills up the receives of an endpoint, or the shared ones.
void ofi_network::post_receives(peer* p) {
  bool const shared = p == nullptr;
  fid_ep* const to = shared ? context_->shared_receives() : p->endpoint;
  std::size_t const wanted = !shared ? own_receives : &receives_ == &long_ ? long_receives : shared_receives;
  while ((shared ? posted_ : p->receives.size()) < wanted) {
    block* const b = receives_.take();
    if (b == nullptr) return;
    ssize_t const e =
        fi_recv(to, b->begin(), b->room, b->descriptor, FI_ADDR_UNSPEC, static_cast<ticket*>(b));
    if (e != 0) {
      receives_.give(b);
      return;
    }
    b->whom = p;
    if (shared) {
      ++posted_;
    } else {
      p->receives.push_back(b);
    }
  }
}

/// True if nothing is left in the queue.
bool ofi_network::read_completions(context const& of) {
  // All of it where a connection has ended: what was sent before comes before the loss.
  bool const all = !listed_.empty() || !dead_records_.empty() || !dead_blocks_.empty();
  for (int reads = 0; reads < most_reads_a_poll && (told_ == 0 || all); ++reads) {
    std::array<fi_cq_msg_entry, entries_at_once> entries;
    ssize_t const n = fi_cq_read(of.completions(), entries.data(), entries.size());
    if (n == -FI_EAGAIN || n == 0) return true;
    if (n == -FI_EAVAIL) {
      read_failure(of);
      continue;
    }
    if (n < 0) {
      error_ = words_of(n);
      return false;
    }
    moved_ += static_cast<unsigned>(n);
    for (std::size_t i = 0; i < static_cast<std::size_t>(n); ++i) {
      auto* const t = static_cast<ticket*>(entries[i].op_context);
      if (t == nullptr) continue;
      if (t->is_block) {
        take_block(static_cast<block*>(t), entries[i].len);
      } else if (auto* const r = static_cast<record*>(t); r->open) {
        // After a loss nobody knows any more whether it was done.
        part_done(r, r->whom->endpoint == nullptr ? outcome::peer_lost : outcome::ok);
      }
    }
  }
  return false;
}

void ofi_network::read_failure(context const& of) {
  fi_cq_err_entry error{};
  if (fi_cq_readerr(of.completions(), &error, 0) < 1) return;
  ++moved_;
  auto* const t = static_cast<ticket*>(error.op_context);
  if (t == nullptr) return;
  if (t->is_block) {
    take_block(static_cast<block*>(t), 0);
    return;
  }
  auto* const r = static_cast<record*>(t);
  if (!r->open) return;  // of an endpoint that is closed
  peer& p = *r->whom;
  if (r->what == sort::bye && p.got_bye) {  // who has said it, too, may be gone
    part_done(r, outcome::ok);
    return;
  }
  // Whatever it is, endpoints do not survive it; of one for all peers the connection does not.
  error_ = words_of(error.err);
  if (&p != &nobody_) lose(p, error_);
  if (say_again(r)) return;
  part_done(r, outcome::peer_lost);
}

/// A receive has ended, well or (with no bytes) badly.
void ofi_network::take_block(block* b, std::size_t bytes) {
  peer* const owner = b->whom;
  if (owner == nullptr) {
    --posted_;
  } else {
    auto const found = std::find(owner->receives.begin(), owner->receives.end(), b);
    if (found == owner->receives.end()) return;  // of an endpoint that is closed
    *found = owner->receives.back();
    owner->receives.pop_back();
  }
  wire w;
  bool kept = false;
  if (bytes >= sizeof w) {
    std::memcpy(&w, b->begin(), sizeof w);
    b->bytes = bytes;
    kept = take_message(b, w);
  }
  if (!kept) receives_.give(b);
  if (owner == nullptr || owner->endpoint != nullptr) post_receives(owner);
}

/// True if the block is still in use.
bool ofi_network::take_message(block* b, wire const& w) {
  if (w.what >= wire::hello) {
    take_agreement(w, {b->begin() + sizeof w, b->bytes - sizeof w});
    return false;
  }
  peer* const p = find(w.from);
  if (p == nullptr || p->now == peer::link::none || p->lost || w.number != p->number) return false;
  if (p->now == peer::link::connecting) {
    moved_ += read_events();  // it stands, and nobody has looked
    if (p->lost) return false;
    if (p->now == peer::link::connecting) stands(*p, nullptr);
  }
  for (std::size_t lane : {0, 1}) {
    p->room[lane] += w.taken[lane];
    p->sent.note_more_seen(w.taken[lane]);
  }
  if (w.what > wire::late_control) {
    take_word(*p, w, {b->begin() + sizeof w, b->bytes - sizeof w});
    return false;
  }
  std::uint32_t const generation = p->generation;
  block* const shown = aside(b, w);
  bool kept = show(*p, shown, w);
  if (shown != b) {
    if (!kept) give(shown);
    kept = false;
  }
  if (p->generation == generation) {
    std::size_t const way = w.what == wire::request || w.what == wire::late_request ? 0 : 1;
    if (++p->taken[way] >= window / 2) say_word(*p, wire::credit, {});
  }
  return kept;
}

/// Where a message is shown: one of a late payload may be in use for long, and has little in it.
block* ofi_network::aside(block* b, wire const& w) {
  bool const late = w.what == wire::late_request || w.what == wire::late_control;
  block* const other = late && b->bytes <= small_.room() ? small_.take() : nullptr;
  if (other == nullptr) return b;
  std::memcpy(other->begin(), b->begin(), b->bytes);
  other->bytes = b->bytes;
  return other;
}

bool ofi_network::show(peer& p, block* b, wire const& w) {
  std::size_t const at = payload_at(w.header);
  if (b->bytes < at) return false;
  arrival what;
  what.peer = p.rank;
  what.lane = w.what == wire::request || w.what == wire::late_request ? lane::request : lane::control;
  what.late = w.what == wire::late_request || w.what == wire::late_control;
  what.header = {b->begin() + sizeof w, w.header};
  what.payload = b->begin() + at;
  what.bytes = b->bytes - at;
  what.may_keep = !what.late && kept_bytes_ < most_kept_bytes;
  what.handle = {b, 0};
  b->whom = &p;
  b->generation = p.generation;
  b->late = what.late;
  b->in_callback = true;
  b->fetched = b->released = false;
  if (what.late) {
    late_payload there;
    if (what.bytes < sizeof there) return false;
    std::memcpy(&there, what.payload, sizeof there);
    std::memmove(b->begin() + b->room - sizeof there, &there, sizeof there);  // where fetch() finds it
    what.payload = nullptr;
    what.bytes = there.bytes;
  }
  ++told_;
  touch_if_ending(p);
  if (!what.late) kept_bytes_ += b->room;
  bool const keeps = target_->arrived(what) == taken::kept;
  b->in_callback = false;
  if (b->fetched) return false;
  if (keeps && !b->released) return true;
  release(what.handle);
  return true;  // given back already
}

started ofi_network::fetch(arrival_handle what, local_place into, operation* events) {
  auto* const b = static_cast<block*>(what.record);
  peer& p = *b->whom;
  if (p.generation != b->generation || p.lost || p.now == peer::link::none) return started::unreachable;
  late_payload there;
  std::memcpy(&there, b->begin() + b->room - sizeof there, sizeof there);
  // While it can be said that nothing has been done.
  fid_mr* entered = nullptr;
  if (context_->registers_local() && into.memory == nullptr && there.bytes != 0 &&
      !enter(*context_, into.address, there.bytes, FI_READ | FI_WRITE, entered))
    return started::unsupported;
  record* const r = open(p, events, sort::fetch);
  r->entered = entered;
  r->near = static_cast<std::byte*>(into.address);
  r->bytes = there.bytes;
  r->far = there.address;
  r->key = there.key;
  r->tag = there.number;
  if (b->in_callback) {
    b->fetched = true;
  } else {
    give(b);
  }
  enter_local(r, into.memory);
  return started::under_way;
}

void ofi_network::release(arrival_handle what) {
  auto* const b = static_cast<block*>(what.record);
  if (b->in_callback) {
    b->released = true;
    return;
  }
  if (!b->late) {
    kept_bytes_ -= b->room;
  } else if (peer& p = *b->whom; p.generation == b->generation) {
    late_payload there;
    std::memcpy(&there, b->begin() + b->room - sizeof there, sizeof there);
    say_word(p, wire::late_done, std::as_bytes(std::span(&there.number, 1)));
  }
  give(b);
}

void ofi_network::take_word(peer& p, wire const& w, std::span<std::byte const> body) {
  std::uint64_t number = 0;
  std::memcpy(&number, body.data(), std::min(body.size(), sizeof number));
  switch (w.what) {
    case wire::late_done:
      if (auto const found = lates_.find(number); found != lates_.end() && found->second->whom == &p) {
        part_done(found->second, outcome::ok);
      }
      break;
    case wire::note:
      ++told_;
      touch_if_ending(p);
      target_->notified(p.rank, number);
      break;
    case wire::bye:
      take_bye(p);
      break;
    case wire::over:
      p.got_over = true;
      touch(p);
      break;
    case wire::ask_rails:
      tell_rails(p);
      break;
    case wire::rails:
      connect_rails(p, body);
      break;
    default:
      break;
  }
}

/// libfabric's queue has been read since their endpoint was closed: it names them no more.
void ofi_network::forget_the_dead() {
  while (!dead_records_.empty()) records_.give(dead_records_.pop());
  while (!dead_blocks_.empty()) receives_.give(dead_blocks_.pop());
}

}  // namespace atl::transport::ofi
