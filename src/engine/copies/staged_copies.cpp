// Copies in pieces through host memory of the initiator. Each piece is loaded into a buffer and stored from
// there; an end that is host memory here needs no buffer. A half whose memory is out of reach is done by the
// owner, asked by a message: to load it sends the bytes, to store it acknowledges.

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include <atoll/base/exceptions.hpp>
#include <atoll/engine/am.hpp>
#include <atoll/engine/host_map.hpp>

#include "engine/copies/copies.hpp"
#include "engine/copies/segments.hpp"
#include "engine/world.hpp"

namespace atl::engine {
namespace {

constexpr std::size_t piece_bytes = std::size_t{1} << 20;
/// Pieces of one copy under way: while one is stored the next is loaded.
constexpr unsigned pieces_at_once = 4;

struct staged;

struct piece final : memory::copy_record {
  staged* whole = nullptr;
  std::size_t offset = 0;
  std::size_t bytes = 0;
  bool loaded = false;
  std::unique_ptr<std::byte[]> buffer;
  piece() : memory::copy_record{nullptr} {}
};

struct staged {
  memory_place to;
  memory_place from;
  std::size_t bytes;
  memory::copy_record* done;
  std::size_t next = 0;  ///< offset of the first piece that was not begun
  unsigned open = 0;
};

/// What an owner is asked to do for a peer.
struct order {
  std::uint64_t cookie;  ///< the initiator's
  memory_place place;
  std::uint64_t bytes;
};

/// An owner's copy for a peer.
struct service final : memory::copy_record {
  order asked{};
  std::int32_t initiator = -1;
  message* data = nullptr;              ///< to be stored; released when that has happened
  std::unique_ptr<std::byte[]> buffer;  ///< what was loaded
  service() : memory::copy_record{nullptr} {}
};

/// What could not be sent for want of memory. Under the engine's lock.
std::vector<piece*>& waiting_pieces() {
  static auto* const all = new std::vector<piece*>;
  return *all;
}
std::vector<service*>& waiting_services() {
  static auto* const all = new std::vector<service*>;
  return *all;
}

std::byte* host_address(memory_place place) noexcept {
  if (place.owner == 0) return reinterpret_cast<std::byte*>(place.address);
  return hosts.to_address(static_cast<std::uint32_t>(place.owner), place.address);
}

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

/// Does what comes next for a piece; false if that found no memory and must be tried again.
bool advance(piece* p);

// The owner's side

void loaded_here(message* m);
void stored_there(message* m);

bool answer(service* s) noexcept {
  bool const load = s->buffer != nullptr;
  bool const sent =
      load ? send(s->initiator, token_cache<&loaded_here>::get(), s->asked, s->buffer.get(), s->asked.bytes)
           : send(s->initiator, token_cache<&stored_there>::get(), s->asked, nullptr, 0);
  if (!sent) return false;
  delete s;
  count(device_work, -1);
  return true;
}

void serve_landed(memory::copy_record* record) noexcept {
  auto* const s = static_cast<service*>(record);
  --find_segment(s->asked.place, s->asked.bytes).copies;
  if (s->data != nullptr) release(s->data);
  if (!answer(s)) waiting_services().push_back(s);
}

service* begin_service(message* m) {
  auto* const s = new service;
  std::memcpy(&s->asked, m->payload(), sizeof s->asked);
  s->initiator = m->source;
  s->landed = &serve_landed;
  count(device_work, 1);
  return s;
}

void serve_load(message* m) {
  service* const s = begin_service(m);
  release(m);
  segment& from = find_segment(s->asked.place, s->asked.bytes);
  ++from.copies;
  s->buffer = std::make_unique_for_overwrite<std::byte[]>(s->asked.bytes);
  from.kind->copy({nullptr, reinterpret_cast<std::uintptr_t>(s->buffer.get())},
                  {from.memory.get(), s->asked.place.address}, s->asked.bytes,
                  static_cast<std::uint32_t>(s->initiator), s, nullptr);
}

void serve_store(message* m) {
  service* const s = begin_service(m);
  s->data = m;
  segment& to = find_segment(s->asked.place, s->asked.bytes);
  ++to.copies;
  to.kind->copy({to.memory.get(), s->asked.place.address},
                {nullptr, reinterpret_cast<std::uintptr_t>(m->payload() + sizeof(order))}, s->asked.bytes,
                static_cast<std::uint32_t>(s->initiator), s, nullptr);
}

// The initiator's side

memory_place moved_by(memory_place place, std::size_t offset) noexcept {
  return {place.owner, place.address + offset};
}

void begin_pieces(staged* s) {
  while (s->open < pieces_at_once && (s->next < s->bytes || (s->bytes == 0 && s->open == 0))) {
    auto* const p = new piece;
    p->whole = s;
    p->offset = s->next;
    p->bytes = std::min(piece_bytes, s->bytes - s->next);
    s->next += p->bytes;
    ++s->open;
    advance(p);
    if (s->bytes == 0) return;
  }
}

void finish(piece* p) {
  staged* const s = p->whole;
  delete p;
  --s->open;
  if (s->next < s->bytes) {
    begin_pieces(s);
  } else if (s->open == 0) {
    memory::copy_record* const done = s->done;
    delete s;
    done->landed(done);
  }
}

/// Half of a piece is done.
void half_landed(memory::copy_record* record) noexcept {
  auto* const p = static_cast<piece*>(record);
  if (p->loaded) {
    finish(p);
  } else {
    p->loaded = true;
    advance(p);
  }
}

piece* piece_of(message* m) noexcept {
  order head;
  std::memcpy(&head, m->payload(), sizeof head);
  return reinterpret_cast<piece*>(static_cast<std::uintptr_t>(head.cookie));
}

void loaded_here(message* m) {
  piece* const p = piece_of(m);
  std::byte* const to = p->buffer != nullptr ? p->buffer.get() : host_address(p->whole->to) + p->offset;
  std::memcpy(to, m->payload() + sizeof(order), p->bytes);
  release(m);
  half_landed(p);
}

void stored_there(message* m) {
  piece* const p = piece_of(m);
  release(m);
  half_landed(p);
}

/// Does the next half of a piece: `device` is its end in device memory, `host` its other one. False if that
/// must be tried again.
bool do_half(piece* p, memory_place device, std::byte* host) {
  segment& s = find_segment(device, p->bytes);
  if (!s.out_of_reach) {
    p->landed = &half_landed;
    memory::copy_end const there{s.memory.get(), device.address};
    memory::copy_end const here{nullptr, reinterpret_cast<std::uintptr_t>(host)};
    s.kind->copy(p->loaded ? there : here, p->loaded ? here : there, p->bytes,
                 static_cast<std::uint32_t>(rank_of(device.owner)), p, nullptr);
    return true;
  }
  order const head{reinterpret_cast<std::uintptr_t>(p), device, p->bytes};
  return p->loaded ? send(rank_of(device.owner), token_cache<&serve_store>::get(), head, host, p->bytes)
                   : send(rank_of(device.owner), token_cache<&serve_load>::get(), head, nullptr, 0);
}

bool advance(piece* p) {
  staged const& s = *p->whole;
  memory_place const to = moved_by(s.to, p->offset);
  memory_place const from = moved_by(s.from, p->offset);
  if (!p->loaded && on_host(from)) p->loaded = true;
  if (p->loaded && on_host(to)) {  // loading has put it there
    finish(p);
    return true;
  }
  if (p->buffer == nullptr && !on_host(from) && !on_host(to)) {
    p->buffer = std::make_unique_for_overwrite<std::byte[]>(p->bytes);
  }
  std::byte* const host = p->buffer != nullptr ? p->buffer.get() : host_address(on_host(from) ? from : to);
  if (do_half(p, p->loaded ? to : from, host)) return true;
  waiting_pieces().push_back(p);
  return false;
}

}  // namespace

void start_staged(memory_place to, memory_place from, std::size_t bytes, memory::copy_record* done) {
  begin_pieces(new staged{to, from, bytes, done});
}

bool retry_staged() {
  bool moved = false;
  for (piece* const p : std::exchange(waiting_pieces(), {})) {
    moved |= advance(p);
  }
  for (service* const s : std::exchange(waiting_services(), {})) {
    if (answer(s)) {
      moved = true;
    } else {
      waiting_services().push_back(s);
    }
  }
  return moved;
}

}  // namespace atl::engine
