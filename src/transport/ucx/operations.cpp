// What is under way with libucp: how starts end, what comes back, and flushes.
//
// A record stands for one operation of the table, whatever number of requests of libucp's that takes. Its life:
//
//   started ──all requests done──> here ──nothing follows──────────────> finished
//                                    └─a flush follows──> waits ──flush done──┘
//
// One flush at a time is under way for those that wait; those that come meanwhile wait for the next one.

#include <cstring>
#include <utility>

#include "transport/ucx/ucx_network.hpp"

namespace atl::transport::ucx {
namespace {

bool means_loss(ucs_status_t status) {
  switch (status) {
    case UCS_ERR_TIMED_OUT:
    case UCS_ERR_IO_ERROR:
    case UCS_ERR_ENDPOINT_TIMEOUT:
    case UCS_ERR_CONNECTION_RESET:
    case UCS_ERR_UNREACHABLE:
    case UCS_ERR_NOT_CONNECTED:
    case UCS_ERR_CANCELED:
    case UCS_ERR_REJECTED:
      return true;
    default:
      return false;
  }
}

/// Does somebody want to hear when this message has left?
bool tells_left(record const& r) {
  return r.what == record::sort::message && r.events != nullptr && r.events->asks(completion::left);
}

}  // namespace

record* ucx_network::open(peer& p, operation* events, sort what) {
  record* const r = records_.take();
  r->owner = this;
  r->whom = &p;
  r->events = events;
  r->what = what;
  r->parts = 1;
  r->status = UCS_OK;
  bool const has_source = what == sort::message || what == sort::put;
  r->source_told = !has_source || events == nullptr || !events->asks(completion::source);
  ++p.out;
  ++live_;
  return r;
}

void ucx_network::drop(record* r) {
  peer& p = *r->whom;
  if (r->memory != nullptr) give(p, r->memory);
  switch (r->what) {
    case sort::message:
      ++p.room[r->lane];
      break;
    case sort::put:
    case sort::get:
    case sort::atomic:
      --p.memory_out;
      break;
    default:
      break;
  }
  --p.out;
  --live_;
  records_.give(r);
  touch_if_ending(p);
}

outcome ucx_network::outcome_of(record const& r) {
  if (r.status == UCS_OK) return outcome::ok;
  error_ = words_of(r.status);
  return r.whom->lost || means_loss(r.status) ? outcome::peer_lost : outcome::failed;
}

ucp_request_param_t ucx_network::parameters(record* r) {
  ucp_request_param_t all{};
  all.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA;
  all.user_data = r;
  all.cb.send = &on_done;
  return all;
}

ucp_request_param_t ucx_network::parameters(record* r, registration const* memory) {
  ucp_request_param_t all = parameters(r);
  // What is said need not be found out.
  all.op_attr_mask |= UCP_OP_ATTR_FIELD_MEMORY_TYPE;
  all.memory_type = memory == nullptr ? UCS_MEMORY_TYPE_HOST : memory->type;
  return all;
}

void ucx_network::on_done(void* request, ucs_status_t status, void* of) {
  ucp.request_free(request);
  auto* const r = static_cast<record*>(of);
  r->owner->part_done(r, status);
}

void ucx_network::on_received(void* request, ucs_status_t status, std::size_t /*bytes*/, void* of) {
  on_done(request, status, of);
}

namespace {
/// Of a message, or a word, that fails nobody else hears, and its peer waits for it.
bool has_to_come(record const& r) {
  using sort = record::sort;
  return r.what == sort::message || r.what == sort::word || r.what == sort::last_word;
}
}  // namespace

void ucx_network::started_part(record* r, ucs_status_ptr_t what) {
  if (UCS_PTR_IS_PTR(what)) {
    ++r->parts;
  } else if (UCS_PTR_IS_ERR(what)) {
    r->status = UCS_PTR_STATUS(what);
  }
}

void ucx_network::part_done(record* r, ucs_status_t status) {
  if (status != UCS_OK) {
    r->status = status;
    if (means_loss(status) || has_to_come(*r)) lose(*r->whom, words_of(status));
  }
  if (--r->parts == 0) here_done(r);
}

started ucx_network::seal(record* r) {
  bool const pending = --r->parts > 0;
  operation const* const events = r->events;
  bool const copied = r->what == sort::put && r->memory != nullptr;
  if (!pending && r->status != UCS_OK) {
    if (means_loss(r->status) || has_to_come(*r)) lose(*r->whom, words_of(r->status));
    here_done(r);
    return under_way_for(events);
  }
  bool const has_source = r->what == sort::message || r->what == sort::put;
  bool const wants_source = has_source && events != nullptr && events->asks(completion::source);
  bool const wants_finish = events != nullptr && events->asks(completion::finished);
  bool const source_free = !pending || copied;
  if (source_free) r->source_told = true;
  if (tells_left(*r)) {
    if (!pending && has_left(*r->whom)) {
      drop(r);
      return started::complete;
    }
    if (!pending) here_done(r);
    return started::under_way;
  }
  if (!pending && !r->flush_follows && r->what != sort::flush) {
    if (r->result != nullptr) std::memcpy(r->result, &r->reply, r->width);
    drop(r);
    return started::complete;
  }
  if (!pending && r->what == sort::flush) {
    // What went wrong before it is news for poll().
    bool const quiet = r->of == nullptr && r->whom->silent == outcome::ok;
    if (quiet) {
      drop(r);
    } else {
      finish(r);
    }
    return quiet ? started::complete : under_way_for(events);
  }
  if (!pending) want_flush(r);
  if (!wants_finish && (!wants_source || source_free)) return started::complete;
  return wants_source && source_free ? started::source_free : started::under_way;
}

/// All requests of it are done, later than its start or badly.
void ucx_network::here_done(record* r) {
  outcome const how = outcome_of(*r);
  if (!r->source_told) say(r->events, r->whom, completion::source, how);
  r->source_told = true;
  if (how == outcome::ok && r->result != nullptr) std::memcpy(r->result, &r->reply, r->width);
  if (how == outcome::ok && tells_left(*r)) {
    tell_when_left(*r);
    drop(r);
  } else if (r->what == sort::own_flush) {
    own_flush_done(r);
  } else if (how == outcome::ok && r->flush_follows) {
    want_flush(r);
  } else {
    finish(r);
  }
}

void ucx_network::finish(record* r) {
  peer& p = *r->whom;
  outcome how = outcome_of(*r);
  bool const waited_for = r->events != nullptr && r->events->asks(completion::finished);
  if (r->what == sort::flush) {
    if (how == outcome::ok) how = p.silent;
    p.silent = outcome::ok;
  } else if (!waited_for && how > p.silent) {
    p.silent = how;
  }
  if (many_flushes* const all = r->of; all != nullptr) {
    flushed_one(all, how);
  } else {
    say(r->events, r->whom, completion::finished, how);
    say(r->events, r->whom, completion::left, how);
  }
  if (r->notifies && how == outcome::ok && !p.lost) {
    p.sent.note_sent();
    say_word(p, wire::note, std::as_bytes(std::span(&r->tag, 1)));
  }
  drop(r);
}

// ---- leaving -------------------------------------------------------------------------------------

/// Has what libucp has just taken left for sure? It goes into the wire at once where that has room. It has when little but this is
/// under way, and nothing that this side does not know of: who has a key may get memory through the same wire at any time.
bool ucx_network::has_left(peer const& p) const noexcept {
  return !keys_are_out_ && p.out == 1 && p.sent.wire_is_empty();
}

/// Else: libucp has taken this message, and keeps it while its wire is full. So a word goes behind the message: libucp takes that one only
/// when the wire has what came before. (A flush would wait for an answer of the peer's, which may be gone from here.) The word has
/// the events now.
void ucx_network::tell_when_left(record const& message) {
  peer& p = *message.whom;
  record* const behind = open(p, message.events, sort::word);
  std::size_t const bytes = write_word(behind, wire::mark, {});
  if (p.lost || p.endpoint == nullptr) {
    behind->status = UCS_ERR_CONNECTION_RESET;
  } else {
    post_block(behind, bytes);
  }
  if (--behind->parts == 0) here_done(behind);
}

// ---- flushes -------------------------------------------------------------------------------------

void ucx_network::want_flush(record* r) {
  peer& p = *r->whom;
  r->next = nullptr;
  *p.last_want = r;
  p.last_want = &r->next;
  if (!p.flushing) flush_for_waiting(p);
}

void ucx_network::flush_for_waiting(peer& p) {
  if (p.lost || p.endpoint == nullptr) {
    fail_waiting(p);
    return;
  }
  record* const r = open(p, nullptr, sort::own_flush);
  r->behind = std::exchange(p.want_flush, nullptr);
  p.last_want = &p.want_flush;
  p.flushing = true;
  r->tag = p.memory_started;
  ucp_request_param_t const all = parameters(r);
  started_part(r, ucp.ep_flush_nbx(p.endpoint, &all));
  if (--r->parts == 0) here_done(r);
}

void ucx_network::own_flush_done(record* r) {
  peer& p = *r->whom;
  ucs_status_t const status = r->status;
  record* list = std::exchange(r->behind, nullptr);
  p.flushing = false;
  if (status == UCS_OK) p.memory_flushed = r->tag;
  drop(r);
  while (list != nullptr) {
    record* const next = list->next;
    if (status != UCS_OK) list->status = status;
    finish(list);
    list = next;
  }
  if (p.want_flush != nullptr && !p.flushing) flush_for_waiting(p);
}

/// There is no wire any more to flush.
void ucx_network::fail_waiting(peer& p) {
  record* list = std::exchange(p.want_flush, nullptr);
  p.last_want = &p.want_flush;
  while (list != nullptr) {
    record* const next = list->next;
    list->status = UCS_ERR_CONNECTION_RESET;
    finish(list);
    list = next;
  }
}

started ucx_network::flush_one(peer& p, operation* events, many_flushes* of) {
  record* const r = open(p, events, sort::flush);
  if (of != nullptr) ++of->left;
  r->of = of;
  ucp_request_param_t const all = parameters(r);
  started_part(r, ucp.ep_flush_nbx(p.endpoint, &all));
  return seal(r);
}

}  // namespace atl::transport::ucx
