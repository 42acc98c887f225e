#include "engine/rma/direct.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "base/error.hpp"
#include "base/settings.hpp"
#include "engine/network/failure.hpp"
#include "engine/rma/remote_memory.hpp"
#include "memory/kind.hpp"

namespace atl::engine {

using remote::direct_cut;
using remote::direct_piece;
using remote::direct_transfer;
using remote::stream;
using transport::started;

namespace {

// Handler.
void piece_landed(message* m) {
  auto const tag = remote::read_at<std::uint32_t>(m->payload());
  std::int32_t const from = m->source;
  release(m);
  remote_memory::here().notices().landed(from, tag);
}

constexpr std::uint64_t block_of(std::uint64_t offset) noexcept { return offset >> key_block_log; }
std::byte* in_memory(std::uint64_t at) noexcept {
  return reinterpret_cast<std::byte*>(static_cast<std::uintptr_t>(at));
}

}  // namespace

namespace remote {

struct direct_transfer {
  stream* order;
  std::int32_t rank;
  bool puts;
  bool contiguous;
  direct_runs runs;
  transport::registration* local = nullptr;  ///< of a contiguous one
  unsigned under_way = 0;                    ///< pieces
  bool queued = false;                       ///< ready, or waiting for a key
  std::optional<direct_cut> next{};          ///< cut, and not begun
  bool untouched = true;                     ///< nothing was cut
  // Where the network announces the data.
  bool announced = false;
  bool noticed = false;  ///< the owner has done what it was to do then
  std::uint32_t tag = 0;

  [[nodiscard]] bool all_begun() const noexcept { return !next && runs.ended(); }
};

struct direct_piece final : transport::operation, copy_completion {
  direct_transfers& all;
  direct_transfer& of;
  direct_cut what;
  std::array<peer_keys::entry*, direct_cut::most_runs> keys{};

  direct_piece(direct_transfers& owner, direct_transfer& whole, direct_cut const& some, callback on,
               bool (*on_arrival)(copy_completion*) noexcept)
      : operation(on, transport::ask_finished),
        copy_completion{on_arrival},
        all(owner),
        of(whole),
        what(some) {}
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
  transport::abilities const& can = network.abilities();
  bool const written_in_place = network.sizes(0, transport::lane::control).in_place >= remote_piece_bytes;
  from_[puts] = remote::direct_put_from(can, network.limits(), written_in_place);
  from_[puts_of_more] = remote::direct_put_from(can, network.limits(), true);
  from_[gets] = remote::direct_get_from(can);
  run_from_[puts] = remote::direct_run_from(can, true);
  run_from_[gets] = remote::direct_run_from(can, false);
  announces_ = can.put_notified.how == transport::support::native &&
               network.limits().notification_bits >= expected_tag_bits;
  tells_late_ = !announces_ && can.put.needs_target;
  if (auto const set = settings::direct_from()) {
    tells_late_ = false;
    if (can.put) from_[puts] = from_[puts_of_more] = *set;
    if (can.get) from_[gets] = *set;
  }
  if (auto const set = settings::direct_run_from()) {
    if (can.put_pieces) run_from_[puts] = *set;
    if (can.get_pieces) run_from_[gets] = *set;
  }
}

/// Are there keys, or is it so large that it may wait for them?
bool direct_transfers::keys_suffice(remote::shape const& what) {
  bool const get = what.to().is_here();
  transfer_end const& there = get ? what.from() : what.to();
  if (engine_.shm.reaches(there.rank)) return false;
  if (what.size().bytes > remote::pieces_at_once * remote_piece_bytes) return true;
  bool all = true;
  for (transfer_run const& run : what.list(get ? remote::shape::side::from : remote::shape::side::to)) {
    for (std::uint64_t block = block_of(run.at); block <= block_of(run.at + run.bytes - 1); ++block) {
      peer_keys::entry const* const key = keys_->look(there.rank, block);
      all = all && key != nullptr && key->now == peer_keys::state::ready;
    }
  }
  return all;
}

void direct_transfers::begin(stream* order) {
  using side = remote::shape::side;
  bool const put = order->puts();
  remote::shape const& what = order->what;
  auto* const t =
      new direct_transfer{order,
                          put ? what.to().rank : what.from().rank,
                          put,
                          what.size().runs == 1,
                          {what.list(put ? side::from : side::to), what.list(put ? side::to : side::from)}};
  order->transfer = t;
  if (t->contiguous && network_->transport().abilities().needs_local_registration) {
    transfer_run const& all = t->runs.here().front();
    t->local =
        network_->transport().register_memory(in_memory(all.at), all.bytes, memory::kind_id::host, -1).memory;
  }
  queue(t);
  pump();
}

/// One that no transfer under way has: some take long. Half of all are free at least.
std::uint32_t direct_transfers::take_tag() {
  do {
    next_tag_ = (next_tag_ + 1) % (1U << expected_tag_bits);
  } while (tags_.test(next_tag_));
  tags_.set(next_tag_);
  return next_tag_;
}

/// Tells the owner what to do when all pieces have landed, ahead of them.
void direct_transfers::announce(direct_transfer& t) {
  if (!announces_ || !t.contiguous || t.order->notice.what == arrival_notice::sort::none) return;
  if (announced_ == most_announced) return;  // whose tags are in use: then when the data are in place
  ++announced_;
  t.announced = true;
  t.tag = take_tag();
  expected_arrivals expected{t.tag, 0};
  for (remote::direct_runs rest = t.runs; !rest.ended(); ++expected.pieces) static_cast<void>(cut(t, rest));
  messages_.send_notice(t.order->completion, {t.rank, t.runs.next_there()}, t.order->notice, &expected);
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
  while (ready_.size() > stuck && stuck < most_stuck && under_way_ < pieces_of_all) {
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

direct_cut direct_transfers::cut(direct_transfer const& t, remote::direct_runs& runs) const noexcept {
  transport::limits const& sizes = network_->transport().limits();
  // One of one run can say that it has landed.
  std::size_t const most_runs = t.contiguous ? 1 : std::min(sizes.pieces, direct_cut::most_runs);
  return runs.cut(t.puts ? sizes.put_bytes : sizes.get_bytes, std::max<std::size_t>(most_runs, 1));
}

void direct_transfers::look_ahead(direct_transfer const& t) {
  std::uint64_t blocks = 0;
  std::uint64_t last = ~std::uint64_t{0};
  t.runs.next_runs(direct_cut::most_runs, [&](transfer_run const& run) {
    std::uint64_t const end = block_of(run.at + run.bytes - 1);
    for (std::uint64_t block = block_of(run.at); block <= end && blocks < blocks_ahead; ++block) {
      if (block == std::exchange(last, block)) continue;
      static_cast<void>(keys_->look(t.rank, block));
      ++blocks;
    }
  });
}

/// All keys of a piece, in use: some are on their way, or there are none.
direct_transfers::keys_are direct_transfers::take_keys(direct_piece& p) {
  std::span<transfer_run const> const there = p.what.there();
  for (std::size_t i = 0; i < there.size(); ++i) {
    peer_keys::entry* const key = keys_->look(p.of.rank, block_of(there[i].at));
    if (key == nullptr || !key->serves(there[i].at, there[i].bytes)) {
      bool const pending = key != nullptr && key->is_pending();
      leave_keys(p, false);
      return pending ? keys_are::pending : keys_are::missing;
    }
    keys_->use(key);
    p.keys[i] = key;
  }
  return keys_are::usable;
}

void direct_transfers::leave_keys(direct_piece& p, bool useless) {
  // One may stand there twice: both uses end before it goes.
  if (useless) {
    for (peer_keys::entry* const key : p.keys) {
      if (key != nullptr) keys_->drop(key);
    }
  }
  for (peer_keys::entry*& key : p.keys) {
    if (key != nullptr) keys_->leave(std::exchange(key, nullptr));
  }
}

direct_transfers::step direct_transfers::begin_piece(direct_transfer& t) {
  if (t.all_begun() || t.under_way == pieces_of_transfer) return step::paused;
  bool const known_here = t.local != nullptr || !network_->transport().abilities().needs_local_registration;
  if (!t.next) {
    if (std::exchange(t.untouched, false)) announce(t);
    t.next = cut(t, t.runs);
  }
  if (known_here) look_ahead(t);

  auto p = std::make_unique<direct_piece>(*this, t, *t.next, &on_event, &on_arrival);
  keys_are const keys = known_here ? take_keys(*p) : keys_are::missing;
  if (keys == keys_are::pending) return step::no_key;
  started s = started::unsupported;
  if (keys == keys_are::usable) {
    s = start(*p);
    if (s == started::no_room) {
      leave_keys(*p, false);
      return step::no_room;
    }
  }
  direct_piece* const begun = p.release();
  t.next.reset();
  ++t.under_way;
  ++under_way_;
  // Of what has all begun the pieces dispose, the last one as soon as now.
  step const then = t.all_begun() ? step::paused : step::again;
  if (transport::is_under_way(s)) return then;
  leave_keys(*begun, s != started::complete);
  if (s == started::complete) {
    piece_done(begun);
  } else {
    in_messages(begun);
  }
  return then;
}

/// Hands a piece to the network.
started direct_transfers::start(direct_piece& p) {
  direct_transfer const& t = p.of;
  transport::network& network = network_->transport();
  std::array<transport::local_piece, direct_cut::most_runs> here;
  std::array<transport::remote_piece, direct_cut::most_runs> there;
  for (std::size_t i = 0; i < p.what.here_count; ++i) {
    transfer_run const& run = p.what.here_runs[i];
    here[i] = {{in_memory(run.at), t.local}, run.bytes};
  }
  for (std::size_t i = 0; i < p.what.there_count; ++i) {
    transfer_run const& run = p.what.there_runs[i];
    there[i] = {{p.keys[i]->key, run.at - p.keys[i]->begin}, run.bytes};
  }
  if (t.announced)
    return network.put_notified(t.rank, there[0].place, here[0].place, p.what.bytes, t.tag, &p);
  if (p.what.is_contiguous()) {
    return t.puts ? network.put(t.rank, there[0].place, here[0].place, p.what.bytes, &p)
                  : network.get(t.rank, here[0].place, there[0].place, p.what.bytes, &p);
  }
  std::span const all_here(here.data(), p.what.here_count);
  std::span const all_there(there.data(), p.what.there_count);
  return t.puts ? network.put_pieces(t.rank, all_there, all_here, &p)
                : network.get_pieces(t.rank, all_here, all_there, &p);
}

void direct_transfers::in_messages(direct_piece* p) {
  direct_transfer const& t = p->of;
  using list = std::vector<transfer_run>;
  list here(p->what.here().begin(), p->what.here().end());
  list there(p->what.there().begin(), p->what.there().end());
  transfer_end const elsewhere{t.rank, there.front().at};
  transfer_end const own = transfer_end::in_memory(in_memory(here.front().at));
  transfer_end const& to = t.puts ? elsewhere : own;
  transfer_end const& from = t.puts ? own : elsewhere;
  auto* const s =
      new stream(p->what.is_contiguous() ? remote::shape::contiguous(to, from, p->what.bytes)
                                         : remote::shape::of_runs(to, std::move(t.puts ? there : here), from,
                                                                  std::move(t.puts ? here : there)),
                 {}, t.order->call);
  s->completion = p;
  ::new (p->under_way) remote::operation_state{s, nullptr, t.order->call, 0, 0, t.rank};
  messages_.begin(s);
}

void direct_transfers::on_event(transport::operation& self, transport::completion /*what*/,
                                transport::outcome how) {
  auto* const p = static_cast<direct_piece*>(&self);
  direct_transfers& all = p->all;
  all.leave_keys(*p, how == transport::outcome::bad_key);
  switch (how) {
    case transport::outcome::ok:
      all.piece_done(p);
      break;
    case transport::outcome::bad_key:
    case transport::outcome::refused:
      all.in_messages(p);
      break;
    default:
      operation_failed(
          *all.network_, how, p->of.rank,
          format(p->of.puts ? "a put of %zu bytes to rank %d" : "a get of %zu bytes from rank %d",
                 p->what.bytes, p->of.rank),
          without_direct_transfers);
  }
}

/// A piece that travelled in messages is in place, which the network has not said to its owner.
bool direct_transfers::on_arrival(copy_completion* self) noexcept {
  auto* const p = static_cast<direct_piece*>(self);
  direct_transfer const& t = p->of;
  if (t.announced)
    am_short(t.rank, token_cache<&piece_landed>::get(), &t.tag, sizeof t.tag, pressure::always);
  p->all.piece_done(p);
  return true;
}

void direct_transfers::piece_done(direct_piece* p) {
  direct_transfer* const t = &p->of;
  delete p;
  --under_way_;
  --t->under_way;
  if (!t->all_begun()) {
    queue(t);
  } else if (t->under_way == 0) {
    all_in_place(t);
  }
  pump();
}

void direct_transfers::all_in_place(direct_transfer* t) {
  if (t->local != nullptr) network_->transport().forget(std::exchange(t->local, nullptr));
  copy_completion* const completion = t->order->completion;
  if (t->puts && completion->source != nullptr) completion->source(completion);
  if (t->announced && !t->noticed) return;
  finish(t);
}

void direct_transfers::notice_given(stream* order) {
  direct_transfer* const t = order->transfer;
  --announced_;
  tags_.reset(t->tag);
  t->noticed = true;
  // It has seen all pieces. That they are done the network may say later.
  if (t->all_begun() && t->under_way == 0) finish(t);
}

void direct_transfers::finish(direct_transfer* t) {
  std::unique_ptr<stream> const order(t->order);
  bool const told = t->announced || order->notice.what == arrival_notice::sort::none;
  transfer_end const there{t->rank, t->runs.there().front().at};
  delete t;
  if (told) {
    messages_.deliver(order->completion);
    return;
  }
  remote::state_of(order->completion).pieces = nullptr;
  messages_.send_notice(order->completion, there, order->notice);
}

void direct_transfers::keys_changed() {
  for (direct_transfer* const t : std::exchange(no_key_, {})) {
    t->queued = false;
    queue(t);
  }
  pump();
}

}  // namespace atl::engine
