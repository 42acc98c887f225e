#include "engine/copies/staged_copies.hpp"

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <utility>

#include <atoll/base/exceptions.hpp>
#include <atoll/engine/job.hpp>
#include <atoll/engine/rma.hpp>

#include "base/copy_watched.hpp"
#include "base/error.hpp"
#include "engine/copies/copies.hpp"

namespace atl::engine {
namespace {

constexpr std::size_t staged_piece_bytes = std::size_t{1} << 20;
/// Pieces of one copy under way: while one is stored the next is loaded.
constexpr unsigned pieces_at_once = 4;

/// What an owner is asked to do for a peer.
struct order {
  std::uint64_t cookie;  ///< the initiator's
  memory_place place;
  std::uint64_t bytes;
};

order order_in(message const& m) noexcept {
  order head;
  std::memcpy(&head, m.payload(), sizeof head);
  return head;
}

// Handlers.
void serve_load(message* m) { device_copies::here().staged().serve_load(m); }
void serve_store(message* m) { device_copies::here().staged().serve_store(m); }
void loaded(message* m) { device_copies::here().staged().loaded(m); }
void stored(message* m) { device_copies::here().staged().stored(m); }
void copy_refused(message* m) { staged_copies::refused(m); }

/// Sends an order or an answer with `bytes` of data behind it; false if there is no memory for it now.
bool send(std::int32_t target, function_token token, order const& head, void const* data,
          std::size_t bytes) noexcept {
  try {
    outgoing out;
    std::size_t const total = header_bytes + sizeof head + bytes;
    am_begin(out, target, total, pressure::park);
    std::memcpy(out.begin + header_bytes, &head, sizeof head);
    if (bytes != 0) std::memcpy(out.begin + header_bytes + sizeof head, data, bytes);
    am_commit(out, message_kind::active, token, total);
    return true;
  } catch (bad_shared_alloc const&) {
    return false;
  }
}

}  // namespace

struct staged_copies::staged final : copy_in_pieces {
  staged_copies& all;
  bool filling = false;  ///< pieces are being begun, and may end meanwhile
};

struct staged_copies::piece final : memory::copy_record {
  staged* whole = nullptr;
  std::size_t offset = 0;
  std::size_t bytes = 0;
  bool loaded = false;
  std::unique_ptr<std::byte[]> buffer;
  /// A half that concerns host memory elsewhere.
  struct remote_half : copy_completion {
    piece* of = nullptr;
    remote_half() : copy_completion{&remote_half_landed} {}
  } remote;
  piece() : memory::copy_record{nullptr} { remote.of = this; }
};

/// An owner's copy for a peer.
struct staged_copies::service final : memory::copy_record {
  staged_copies& all;
  order asked;
  std::int32_t initiator;
  segment* device;
  message* data = nullptr;              ///< to be stored; released when that has happened
  std::unique_ptr<std::byte[]> buffer;  ///< what was loaded
  service(staged_copies& owner, message const& m)
      : memory::copy_record{&service_landed},
        all(owner),
        asked(order_in(m)),
        initiator(m.source),
        device(owner.segments_.resolve(asked.place, asked.bytes).device) {}
};

// The owner's side

/// What is wrong with an order is its initiator's mistake, who knows the call: that rank says so, and ends the job.
bool staged_copies::refuse(message* m) {
  order const asked = order_in(*m);
  std::string const why = segments_.problem_with(asked.place, asked.bytes);
  if (why.empty()) return false;
  if (!send(m->source, token_cache<&engine::copy_refused>::get(), asked, why.c_str(), why.size() + 1))
    fatal("copy", "rank %d has asked for a copy: %s", m->source, why.c_str());
  release(m);
  return true;
}

staged_copies::service* staged_copies::begin_service(message* m) {
  auto* const s = new service(*this, *m);
  ++s->device->copies;
  work_.count(1);
  return s;
}

void staged_copies::serve_load(message* m) {
  if (refuse(m)) return;
  without_load_.push_back(begin_service(m));
  release(m);
  begin_loads();
}

void staged_copies::begin_loads() {
  if (std::exchange(loads_begin_, true)) return;
  while (!without_load_.empty() && for_services_.fits(without_load_.front()->asked.bytes)) {
    service* const s = without_load_.front();
    without_load_.pop_front();
    for_services_.take(s->asked.bytes);
    s->buffer = std::make_unique_for_overwrite<std::byte[]>(s->asked.bytes);
    s->device->kind->copy({nullptr, reinterpret_cast<std::uintptr_t>(s->buffer.get())},
                          {s->device->memory.get(), s->asked.place.address}, s->asked.bytes,
                          static_cast<std::uint32_t>(s->initiator), s, nullptr);
  }
  loads_begin_ = false;
}

void staged_copies::serve_store(message* m) {
  if (refuse(m)) return;
  service* const s = begin_service(m);
  s->data = m;
  s->device->kind->copy({s->device->memory.get(), s->asked.place.address},
                        {nullptr, reinterpret_cast<std::uintptr_t>(m->payload() + sizeof(order))},
                        s->asked.bytes, static_cast<std::uint32_t>(s->initiator), s, nullptr);
}

void staged_copies::service_landed(memory::copy_record* record) noexcept {
  auto* const s = static_cast<service*>(record);
  --s->device->copies;
  if (s->data != nullptr) release(s->data);
  if (!s->all.answer(s)) s->all.waiting_services_.push_back(s);
}

bool staged_copies::answer(service* s) noexcept {
  bool const load = s->buffer != nullptr;
  bool const sent = load ? send(s->initiator, token_cache<&engine::loaded>::get(), s->asked, s->buffer.get(),
                                s->asked.bytes)
                         : send(s->initiator, token_cache<&engine::stored>::get(), s->asked, nullptr, 0);
  if (!sent) return false;
  if (load) for_services_.give_back(s->asked.bytes);
  delete s;
  work_.count(-1);
  if (load) begin_loads();
  return true;
}

// The initiator's side

void staged_copies::start(copy_place const& to, copy_place const& from, std::size_t bytes,
                          memory::copy_record* done) {
  begin_pieces(new staged{{to, from, bytes, done}, *this});
}

void staged_copies::begin_pieces(staged* w) {
  bool const empty = w->bytes == 0;
  ++w->open;  // a piece that is there at once does not end the copy
  w->filling = true;
  while (w->open <= pieces_at_once && (w->next < w->bytes || empty)) {
    auto* const p = new piece;
    p->whole = w;
    p->offset = w->next;
    p->bytes = std::min(staged_piece_bytes, w->bytes - w->next);
    w->next += p->bytes;
    ++w->open;
    advance(p);
    if (empty) break;
  }
  w->filling = false;
  close(w);
}

void staged_copies::finish(piece* p) {
  staged* const w = p->whole;
  if (p->buffer != nullptr) for_pieces_.give_back(p->bytes);
  delete p;
  give_buffers();
  if (w->next < w->bytes && !w->filling) {
    --w->open;
    begin_pieces(w);
  } else {
    close(w);
  }
}

void staged_copies::give_buffer(piece* p) {
  for_pieces_.take(p->bytes);
  p->buffer = std::make_unique_for_overwrite<std::byte[]>(p->bytes);
}

/// To those that have waited longest.
void staged_copies::give_buffers() {
  if (std::exchange(buffers_given_, true)) return;
  while (!without_buffer_.empty() && for_pieces_.fits(without_buffer_.front()->bytes)) {
    piece* const p = without_buffer_.front();
    without_buffer_.pop_front();
    give_buffer(p);
    advance(p);
  }
  buffers_given_ = false;
}

/// One is done of what the copy waits for.
void staged_copies::close(staged* w) {
  if (--w->open == 0) {
    memory::copy_record* const done = w->done;
    delete w;
    done->landed(done);
  }
}

/// Half of a piece is done.
void staged_copies::half_landed(memory::copy_record* record) noexcept {
  auto* const p = static_cast<piece*>(record);
  staged_copies& all = p->whole->all;
  if (p->loaded) {
    all.finish(p);
  } else {
    p->loaded = true;
    all.advance(p);
  }
}

bool staged_copies::remote_half_landed(copy_completion* half) noexcept {
  half_landed(static_cast<piece::remote_half*>(half)->of);
  return true;
}

void staged_copies::loaded(message* m) {
  auto* const p = reinterpret_cast<piece*>(static_cast<std::uintptr_t>(order_in(*m).cookie));
  std::byte* const to = p->buffer != nullptr ? p->buffer.get() : p->whole->to.on_host() + p->offset;
  copy_watched(to, m->payload() + sizeof(order), p->bytes);
  release(m);
  half_landed(p);
}

void staged_copies::stored(message* m) {
  auto* const p = reinterpret_cast<piece*>(static_cast<std::uintptr_t>(order_in(*m).cookie));
  release(m);
  half_landed(p);
}

void staged_copies::refused(message* m) {
  order const asked = order_in(*m);
  auto const* const p = reinterpret_cast<piece*>(static_cast<std::uintptr_t>(asked.cookie));
  fatal("copy", "rank %d has asked for a copy of %zu bytes, which rank %d refuses: %s", job.rank_me,
        p->whole->bytes, m->source, reinterpret_cast<char const*>(m->payload() + sizeof(order)));
}

/// Does the next half of a piece: `device` is its end in device memory, or host memory elsewhere, `host` its other
/// one. False if that must be tried again.
bool staged_copies::do_half(piece* p, copy_place const& device, std::byte* host) {
  if (device.elsewhere) {
    transfer_end const there{device.owner(), device.address};
    transfer_end const here = transfer_end::in_memory(host);
    remote_start half("copy");
    half.contiguous(p->loaded ? there : here, p->loaded ? here : there, p->bytes);
    half.start(&p->remote);
    return true;
  }
  if (!device.out_of_reach()) {
    p->landed = &half_landed;
    memory::copy_end const here{nullptr, reinterpret_cast<std::uintptr_t>(host)};
    device.device->kind->copy(p->loaded ? device.end() : here, p->loaded ? here : device.end(), p->bytes,
                              static_cast<std::uint32_t>(device.owner()), p, nullptr);
    return true;
  }
  order const head{reinterpret_cast<std::uintptr_t>(p), device.name, p->bytes};
  return p->loaded ? send(device.owner(), token_cache<&engine::serve_store>::get(), head, host, p->bytes)
                   : send(device.owner(), token_cache<&engine::serve_load>::get(), head, nullptr, 0);
}

/// Does what comes next for a piece; false if that found no memory: it is tried again.
bool staged_copies::advance(piece* p) {
  copy_place const to = p->whole->to.moved_by(p->offset);
  copy_place const from = p->whole->from.moved_by(p->offset);
  if (!p->loaded && from.is_on_host_here()) p->loaded = true;
  if (p->loaded && to.is_on_host_here()) {  // loading has put it there
    finish(p);
    return true;
  }
  if (p->buffer == nullptr && !from.is_on_host_here() && !to.is_on_host_here()) {
    if (!without_buffer_.empty() || !for_pieces_.fits(p->bytes)) {
      without_buffer_.push_back(p);
      return false;
    }
    give_buffer(p);
  }
  std::byte* const host =
      p->buffer != nullptr ? p->buffer.get() : (from.is_on_host_here() ? from : to).on_host();
  if (do_half(p, p->loaded ? to : from, host)) return true;
  waiting_pieces_.push_back(p);
  return false;
}

bool staged_copies::retry() {
  bool moved = false;
  for (piece* const p : std::exchange(waiting_pieces_, {})) moved |= advance(p);
  for (service* const s : std::exchange(waiting_services_, {})) {
    if (answer(s)) {
      moved = true;
    } else {
      waiting_services_.push_back(s);
    }
  }
  return moved;
}

}  // namespace atl::engine
