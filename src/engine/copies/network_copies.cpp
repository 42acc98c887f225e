#include "engine/copies/network_copies.hpp"

#include <algorithm>
#include <utility>

#include <atoll/engine/host_map.hpp>
#include <atoll/engine/job.hpp>

#include "base/error.hpp"
#include "engine/copies/copies.hpp"
#include "engine/network/failure.hpp"
#include "engine/rma/wire.hpp"

namespace atl::engine {

using transport::started;

namespace {

constexpr std::size_t largest_piece = std::size_t{4} << 20;
constexpr unsigned most_pieces = 4;

/// What an owner is asked for: that what was put into a segment is visible to its device.
struct flush_order {
  std::uint64_t cookie;  ///< the initiator's
  std::uint64_t segment;
};

// Handlers.
void serve_flush(message* m) { device_copies::here().by_network().serve_flush(m); }
void flushed(message* m) { device_copies::here().by_network().flushed(m); }

}  // namespace

struct network_copies::transfer final : copy_in_pieces {
  network_copies& all;
  bool waits = false;

  [[nodiscard]] bool puts() const { return is_elsewhere(to); }
};

struct network_copies::piece final : transport::operation, memory::copy_record {
  transfer& of;
  std::size_t offset;
  std::size_t bytes;
  peer_keys* keys = nullptr;
  peer_keys::entry* key = nullptr;

  piece(transfer& whole, std::size_t n)
      : operation(&network_copies::on_event, transport::ask_finished),
        memory::copy_record{&staged},
        of(whole),
        offset(whole.next),
        bytes(n) {}
};

bool network_copies::is_elsewhere(copy_place const& place) {
  return !hosts.is_local(static_cast<std::uint32_t>(place.owner()));
}

/// Does the network, as far as its kind says?
bool network_copies::reads_and_writes(copy_place const& place, bool puts) {
  transport::network& network = network_.transport();
  transport::abilities const& can = network.abilities();
  if ((puts ? can.put : can.get).how != transport::support::native) return false;
  if (place.device == nullptr) return is_elsewhere(place) || !can.needs_local_registration;
  if (!can.takes(place.device->known.kind)) return false;
  if (is_elsewhere(place)) return true;
  return place.owner() == job.rank_me && devices_.registration_of(*place.device) != nullptr;
}

bool network_copies::takes(copy_place const& to, copy_place const& from) {
  if (is_elsewhere(to) == is_elsewhere(from)) return false;
  if (to.device == nullptr && from.device == nullptr) return false;
  if (!direct_) return false;
  bool const puts = is_elsewhere(to);
  return reads_and_writes(to, puts) && reads_and_writes(from, puts);
}

void network_copies::start(copy_place const& to, copy_place const& from, std::size_t bytes,
                           memory::copy_record* done) {
  go_on(new transfer{{to, from, bytes, done}, *this});
}

/// Begins pieces; true if there were any. The transfer may be gone then.
bool network_copies::go_on(transfer* t) {
  bool moved = false;
  ++t->open;  // so that it does not end with a piece that ends at once
  while (t->next < t->bytes && t->open <= most_pieces) {
    if (begin_piece(*t) == step::wait) {
      if (!std::exchange(t->waits, true)) waiting_.push_back(t);
      break;
    }
    moved = true;
  }
  if (--t->open != 0 || t->next < t->bytes) return moved;
  memory::copy_record* const done = t->done;
  delete t;
  done->landed(done);
  return true;
}

transport::local_place network_copies::local_end(copy_place const& place) {
  if (place.device == nullptr) return {place.on_host(), nullptr};
  return {reinterpret_cast<void*>(static_cast<std::uintptr_t>(place.address)),
          devices_.registration_of(*place.device)};
}

network_copies::step network_copies::begin_piece(transfer& t) {
  bool const puts = t.puts();
  copy_place const there = (puts ? t.to : t.from).moved_by(t.next);
  copy_place const here = (puts ? t.from : t.to).moved_by(t.next);
  transport::network& network = network_.transport();
  std::size_t const most = puts ? network.limits().put_bytes : network.limits().get_bytes;
  std::size_t bytes = std::min({t.bytes - t.next, largest_piece, most});
  bool const device = there.device != nullptr;
  if (!device)
    bytes = std::min<std::size_t>(bytes, key_block_bytes - (there.address & (key_block_bytes - 1)));
  peer_keys& keys = device ? devices_.peers() : heaps_;
  std::uint64_t const block = device ? there.device->known.name.number : there.address >> key_block_log;
  peer_keys::entry* const key = keys.look(there.owner(), block);
  if (key != nullptr && key->is_pending()) return step::wait;

  auto* const p = new piece(t, bytes);
  started s = started::unsupported;
  if (key != nullptr && key->serves(there.address, bytes)) {
    p->keys = &keys;
    p->key = key;
    keys.use(key);
    transport::remote_place const far{key->key, there.address - key->begin};
    s = puts ? network.put(there.owner(), far, local_end(here), bytes, p)
             : network.get(there.owner(), local_end(here), far, bytes, p);
    if (s == started::no_room) {
      keys.leave(key);
      delete p;
      return step::wait;
    }
    if (!transport::has_begun(s)) keys.drop(key);
  }
  t.next += bytes;
  ++t.open;
  if (transport::is_under_way(s)) return step::begun;
  if (s == started::complete) {
    arrived(p);
  } else {
    if (p->key != nullptr) keys.leave(std::exchange(p->key, nullptr));
    stage(p);
  }
  return step::begun;
}

/// The network has done it.
void network_copies::arrived(piece* p) {
  if (p->of.puts() && p->key->must_flush) return ask_to_flush(p);
  if (segment const* const here = p->of.to.device;
      !p->of.puts() && here != nullptr && devices_.must_flush(*here)) {
    here->kind->flush(*here->memory);
  }
  p->keys->leave(std::exchange(p->key, nullptr));
  finish(p);
}

void network_copies::ask_to_flush(piece* p) {
  flush_order const order{reinterpret_cast<std::uintptr_t>(p), p->key->block};
  am_short(p->of.to.owner(), token_cache<&engine::serve_flush>::get(), &order, sizeof order,
           pressure::always);
}

/// The initiator keeps its key until it has the answer, so the segment is there.
void network_copies::serve_flush(message* question) {
  auto const order = remote::read_at<flush_order>(question->payload());
  std::int32_t const initiator = question->source;
  release(question);
  segment const& own = *devices_.own(static_cast<std::uint16_t>(order.segment));
  own.kind->flush(*own.memory);
  am_short(initiator, token_cache<&engine::flushed>::get(), &order, sizeof order, pressure::always);
}

void network_copies::flushed(message* answer) {
  auto const order = remote::read_at<flush_order>(answer->payload());
  release(answer);
  auto* const p = reinterpret_cast<piece*>(static_cast<std::uintptr_t>(order.cookie));
  p->keys->leave(std::exchange(p->key, nullptr));
  finish(p);
}

/// In messages instead: there is no key, it has missed, or memory of this side cannot be reached.
void network_copies::stage(piece* p) {
  otherwise_.start(p->of.to.moved_by(p->offset), p->of.from.moved_by(p->offset), p->bytes, p);
}

void network_copies::staged(memory::copy_record* record) noexcept {
  auto* const p = static_cast<piece*>(record);
  p->of.all.finish(p);
}

void network_copies::on_event(transport::operation& self, transport::completion, transport::outcome how) {
  auto* const p = static_cast<piece*>(&self);
  network_copies& all = p->of.all;
  if (how == transport::outcome::ok) return all.arrived(p);
  peer_keys::entry* const key = std::exchange(p->key, nullptr);
  if (how == transport::outcome::bad_key) p->keys->drop(key);
  p->keys->leave(key);
  if (how == transport::outcome::bad_key || how == transport::outcome::refused) {
    all.stage(p);
  } else {
    bool const puts = p->of.puts();
    std::int32_t const peer = (puts ? p->of.to : p->of.from).owner();
    operation_failed(all.network_, how, peer,
                     format("a copy of %zu bytes %s rank %d", p->bytes, puts ? "to" : "from", peer),
                     without_device_memory);
  }
}

void network_copies::finish(piece* p) {
  transfer* const t = &p->of;
  delete p;
  --t->open;
  if (!t->waits) go_on(t);
}

bool network_copies::advance() {
  bool moved = devices_.advance();
  for (transfer* const t : std::exchange(waiting_, {})) {
    t->waits = false;
    moved |= go_on(t);
  }
  return moved;
}

}  // namespace atl::engine
