#include "engine/rma/direct.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/settings.hpp"
#include "engine/rma/remote_memory.hpp"
#include "memory/kind.hpp"

namespace atl::engine {

using remote::direct_piece;
using remote::direct_transfer;
using remote::stream;
using transport::started;

namespace {

constexpr std::uint64_t block_of(std::uint64_t offset) noexcept { return offset >> key_block_log; }

}  // namespace

namespace remote {

// Where the target takes part an operation is a message whose data are copied twice less. Below some 8 KiB that is
// nothing beside the rest.

std::size_t direct_put_from(transport::abilities const& what, transport::limits const& sizes) noexcept {
  if (what.put.how != transport::support::native) return ~std::size_t{0};
  // What one message holds leaves its source at once, and takes its notice along.
  if (what.put.needs_target) return remote_piece_bytes + 1;
  return std::max(sizes.inline_bytes + 1, std::size_t{4096});
}

std::size_t direct_get_from(transport::abilities const& what) noexcept {
  if (what.get.how != transport::support::native) return ~std::size_t{0};
  return what.get.needs_target ? 8192 : 4096;
}

struct direct_transfer {
  stream* order;
  std::int32_t rank;
  bool puts;
  std::uint64_t there;  ///< offset in the rank's region
  std::byte* here;
  std::size_t bytes;
  std::size_t begun = 0;
  unsigned under_way = 0;  ///< pieces
  bool queued = false;     ///< ready, or waiting for a key
  transport::registration* local = nullptr;
};

struct direct_piece final : transport::operation, copy_completion {
  direct_transfers& all;
  direct_transfer& of;
  std::size_t at;
  std::size_t bytes;
  peer_keys::entry* key = nullptr;

  direct_piece(direct_transfers& owner, direct_transfer& whole, std::size_t n, callback on,
               bool (*on_arrival)(copy_completion*) noexcept)
      : operation(on, transport::ask_finished),
        copy_completion{on_arrival},
        all(owner),
        of(whole),
        at(whole.begun),
        bytes(n) {}
};

}  // namespace remote

direct_transfers::direct_transfers(progress_engine& engine, remote_memory& messages, key_exchange* keys)
    : work_source(engine.open, ending::silent),
      engine_(engine),
      messages_(messages),
      network_(engine.network),
      keys_(keys == nullptr ? nullptr : &keys->peers()) {
  if (network_ == nullptr) return;
  transport::network& network = network_->transport();
  put_from_ = remote::direct_put_from(network.abilities(), network.limits());
  get_from_ = remote::direct_get_from(network.abilities());
  if (auto const set = settings::direct_from()) {
    if (network.abilities().put) put_from_ = *set;
    if (network.abilities().get) get_from_ = *set;
  }
}

bool direct_transfers::prefers(transfer_end const& to, transfer_end const& from, std::size_t bytes) {
  if (network_ == nullptr || to.is_here() == from.is_here()) return false;
  transfer_end const& there = to.is_here() ? from : to;
  if (bytes < (to.is_here() ? get_from_ : put_from_) || engine_.shm.reaches(there.rank)) return false;
  if (bytes > remote::pieces_at_once * remote_piece_bytes) return true;
  bool all = true;
  for (std::uint64_t block = block_of(there.at); block <= block_of(there.at + bytes - 1); ++block) {
    peer_keys::entry const* const key = keys_->look(there.rank, block);
    all = all && key != nullptr && key->now == peer_keys::state::ready;
  }
  return all;
}

void direct_transfers::begin(stream* order) {
  bool const puts = order->puts();
  transfer_end const& there = puts ? order->what.to() : order->what.from();
  transfer_end const& here = puts ? order->what.from() : order->what.to();
  auto* const t = new direct_transfer{order,
                                      there.rank,
                                      puts,
                                      there.at,
                                      reinterpret_cast<std::byte*>(static_cast<std::uintptr_t>(here.at)),
                                      order->what.bytes_left()};
  if (network_->transport().abilities().needs_local_registration) {
    t->local = network_->transport().register_memory(t->here, t->bytes, memory::kind_id::host).memory;
  }
  queue(t);
  pump();
}

void direct_transfers::queue(direct_transfer* t) {
  if (std::exchange(t->queued, true)) return;
  ready_.push_back(t);
}

/// Begins pieces, of one transfer after the other; true if there were any.
bool direct_transfers::pump() {
  if (std::exchange(pumping_, true)) return false;  // a piece of what is being begun has ended at once
  bool moved = false;
  std::size_t stuck = 0;
  while (ready_.size() > stuck && under_way_ < pieces_of_all) {
    direct_transfer* const t = ready_.front();
    ready_.pop_front();
    t->queued = false;
    step const went = begin_piece(*t);  // after `paused` it may be gone
    moved |= went == step::again || went == step::paused;
    if (went == step::again) {
      queue(t);
      stuck = 0;
    } else if (went == step::no_room) {
      queue(t);
      ++stuck;
    } else if (went == step::no_key) {
      t->queued = true;
      no_key_.push_back(t);
    }
  }
  pumping_ = false;
  set_open();
  return moved;
}

void direct_transfers::set_open() {
  bool const wanted = !ready_.empty() && under_way_ < pieces_of_all;
  if (wanted != (open() != 0)) count(wanted ? 1 : -1);
}

void direct_transfers::look_ahead(direct_transfer const& t) {
  std::uint64_t const next = block_of(t.there + t.begun) + 1;
  std::uint64_t const last = block_of(t.there + t.bytes - 1);
  for (std::uint64_t block = next; block <= last && block < next + blocks_ahead; ++block) {
    static_cast<void>(keys_->look(t.rank, block));
  }
}

direct_transfers::step direct_transfers::begin_piece(direct_transfer& t) {
  if (t.begun == t.bytes || t.under_way == pieces_of_transfer) return step::paused;
  std::uint64_t const at = t.there + t.begun;
  transport::limits const& sizes = network_->transport().limits();
  std::uint64_t const left_of_block = key_block_bytes - (at & (key_block_bytes - 1));
  std::size_t const bytes = std::min({static_cast<std::size_t>(left_of_block), t.bytes - t.begun,
                                      t.puts ? sizes.put_bytes : sizes.get_bytes});
  bool const known_here = t.local != nullptr || !network_->transport().abilities().needs_local_registration;
  if (known_here) look_ahead(t);
  peer_keys::entry* const key = known_here ? keys_->look(t.rank, block_of(at)) : nullptr;
  if (key != nullptr && key->is_pending()) return step::no_key;

  auto* const p = new direct_piece(*this, t, bytes, &on_event, &on_arrival);
  bool const usable =
      key != nullptr && key->now == peer_keys::state::ready && key->begin <= at && at + bytes <= key->end;
  if (usable) {
    p->key = key;
    keys_->use(key);
    transport::remote_place const there{key->key, at - key->begin};
    transport::local_place const here{t.here + t.begun, t.local};
    transport::network& network = network_->transport();
    started const s =
        t.puts ? network.put(t.rank, there, here, bytes, p) : network.get(t.rank, here, there, bytes, p);
    if (s == started::no_room) {
      keys_->leave(key);
      delete p;
      return step::no_room;
    }
    t.begun += bytes;
    ++t.under_way;
    ++under_way_;
    if (s == started::under_way || s == started::source_free) return step::again;
    if (s == started::unreachable || s == started::unsupported) keys_->drop(key);
    keys_->leave(std::exchange(p->key, nullptr));
    if (s == started::complete) {
      bool const last = t.begun == t.bytes && t.under_way == 1;
      piece_done(p);
      return last ? step::paused : step::again;
    }
  } else {
    t.begun += bytes;
    ++t.under_way;
    ++under_way_;
  }
  in_messages(p);
  return step::again;
}

void direct_transfers::in_messages(direct_piece* p) {
  direct_transfer const& t = p->of;
  transfer_end const there{t.rank, t.there + p->at};
  transfer_end const here = transfer_end::in_memory(t.here + p->at);
  auto* const s = new stream(
      remote::shape::contiguous(t.puts ? there : here, t.puts ? here : there, p->bytes), {}, t.order->call);
  s->completion = p;
  ::new (p->under_way) remote::operation_state{s, nullptr, t.order->call, 0, 0, t.rank};
  messages_.begin(s);
}

void direct_transfers::on_event(transport::operation& self, transport::completion /*what*/,
                                transport::outcome how) {
  auto* const p = static_cast<direct_piece*>(&self);
  direct_transfers& all = p->all;
  peer_keys::entry* const key = std::exchange(p->key, nullptr);
  if (how == transport::outcome::bad_key) all.keys_->drop(key);
  all.keys_->leave(key);
  switch (how) {
    case transport::outcome::ok:
      all.piece_done(p);
      break;
    case transport::outcome::bad_key:
      all.in_messages(p);
      break;
    default:
      all.network_->lost(p->of.rank, all.network_->transport().last_error());
  }
}

bool direct_transfers::on_arrival(copy_completion* self) noexcept {
  auto* const p = static_cast<direct_piece*>(self);
  p->all.piece_done(p);
  return true;
}

void direct_transfers::piece_done(direct_piece* p) {
  direct_transfer* const t = &p->of;
  delete p;
  --under_way_;
  --t->under_way;
  if (t->begun != t->bytes) {
    queue(t);
  } else if (t->under_way == 0) {
    finish(t);
  }
  pump();
}

/// All data are in place.
void direct_transfers::finish(direct_transfer* t) {
  if (t->local != nullptr) network_->transport().forget(t->local);
  std::unique_ptr<stream> const order(t->order);
  std::int32_t const rank = t->rank;
  std::uint64_t const there = t->there;
  delete t;
  copy_completion* const completion = order->completion;
  if (order->puts() && completion->source != nullptr) completion->source(completion);
  if (order->notice.what == arrival_notice::sort::none) {
    messages_.deliver(completion);
  } else {
    messages_.send_notice(completion, {rank, there}, order->notice);
  }
}

void direct_transfers::keys_changed() {
  for (direct_transfer* const t : std::exchange(no_key_, {})) {
    t->queued = false;
    queue(t);
  }
  pump();
}

}  // namespace atl::engine
