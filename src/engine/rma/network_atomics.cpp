#include "engine/rma/network_atomics.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/error.hpp"
#include "engine/network/failure.hpp"
#include "engine/rma/remote_memory.hpp"

namespace atl::engine {

using remote::network_atomic;
using transport::started;

network_form (*network_form_of)(atomic_request const&) noexcept = nullptr;

atomics_by choose_atomics(transport::abilities const& network, std::span<transport::ability const> operations,
                          std::optional<bool> wanted) noexcept {
  bool const all = std::all_of(operations.begin(), operations.end(), [&](transport::ability const& can) {
    // What needs the target's polls is a message, whoever calls it an atomic.
    return can.how == transport::support::native && (wanted == true || !can.needs_target);
  });
  if (wanted == false || !all) return atomics_by::processors;
  if (network.atomics_with_processor) return atomics_by::network;
  return network.loopback ? atomics_by::network_alone : atomics_by::processors;
}

namespace remote {

struct network_atomic final : transport::operation {
  network_atomics& all;
  host_address cell;
  atomic_request asked;
  network_form form;
  copy_completion* completion = nullptr;
  peer_keys::entry* key = nullptr;
  unsigned questions = 0;  ///< that brought no key
  std::uint64_t before = 0;

  network_atomic(network_atomics& owner, host_address const& where, atomic_request const& what, callback on)
      : operation(on, transport::ask_finished),
        all(owner),
        cell(where),
        asked(what),
        form(network_form_of(what)) {}
  /// Must no message do the same?
  [[nodiscard]] bool alone() const noexcept { return asked.by == atomics_by::network_alone; }
  [[nodiscard]] std::int32_t rank() const noexcept { return static_cast<std::int32_t>(cell.rank); }
  [[nodiscard]] std::uint64_t block() const noexcept { return cell.offset >> key_block_log; }
};

}  // namespace remote

network_atomics::network_atomics(progress_engine& engine, remote_memory& messages, key_exchange& keys)
    : work_source(engine.open, ending::silent),
      messages_(messages),
      network_(*engine.network),
      keys_(keys.peers()) {}

network_atomic* network_atomics::prepare(host_address const& cell, atomic_request const& what) {
  if (what.by != atomics_by::network_alone) {
    if (waiting_.size() >= most_waiting) return nullptr;
    peer_keys::entry const* const key =
        keys_.look(static_cast<std::int32_t>(cell.rank), cell.offset >> key_block_log);
    if (key == nullptr || key->now != peer_keys::state::ready) return nullptr;
  }
  return new network_atomic(*this, cell, what, &on_event);
}

void network_atomics::give_up(network_atomic* a) noexcept { delete a; }

void network_atomics::begin(network_atomic* a, copy_completion* completion) {
  a->completion = completion;
  if (!waiting_.empty() || !start(a)) wait(a);
}

void network_atomics::wait(network_atomic* a) {
  waiting_.push_back(a);
  count(1);
}

/// False: it has to wait, for room in the network or for what without_key() says.
bool network_atomics::start(network_atomic* a) {
  // Nothing else connects ranks of one host.
  if (a->alone() && !network_.connect(network_.peer(a->rank()))) return false;
  peer_keys::entry* const key = keys_.look(a->rank(), a->block());
  if (key == nullptr || !key->serves(a->cell.offset, a->asked.bytes)) return without_key(a, key);
  a->key = key;
  keys_.use(key);
  started const s = network_.transport().atomic(a->rank(), {key->key, a->cell.offset - key->begin},
                                                a->form.op, a->form.type, a->form.operands.data(),
                                                {a->form.fetches ? &a->before : nullptr, nullptr}, a);
  if (transport::is_under_way(s)) return true;
  a->key = nullptr;
  if (s != started::unsupported && s != started::unreachable) {
    keys_.leave(key);
    if (s == started::complete) finish(a);
    return s == started::complete;
  }
  bool const gone = without_key(a, key);
  keys_.leave(key);
  return gone;
}

/// What becomes of an operation without a key that the network takes. False: it waits for one.
bool network_atomics::without_key(network_atomic* a, peer_keys::entry* useless) {
  bool const pending = useless != nullptr && useless->is_pending();
  if (useless != nullptr && !pending && (a->alone() || useless->now == peer_keys::state::ready)) {
    keys_.drop(useless);  // so that the next look asks again
    ++a->questions;
  }
  // In the end the owner says what is wrong with the place.
  if (a->alone() && a->questions < most_questions) return false;
  by_message(a);
  return true;
}

void network_atomics::finish(network_atomic* a) {
  remote::operation_state const& state = remote::state_of(a->completion);
  if (state.result != nullptr) std::memcpy(state.result, &a->before, state.bytes);
  copy_completion* const completion = a->completion;
  delete a;
  messages_.deliver(completion);
}

void network_atomics::by_message(network_atomic* a) {
  messages_.send_atomic(a->completion, a->cell, a->asked);
  delete a;
}

void network_atomics::on_event(transport::operation& self, transport::completion /*what*/,
                               transport::outcome how) {
  auto* const a = static_cast<network_atomic*>(&self);
  network_atomics& all = a->all;
  peer_keys::entry* const key = std::exchange(a->key, nullptr);
  switch (how) {
    case transport::outcome::ok:
      all.keys_.leave(key);
      all.finish(a);
      break;
    case transport::outcome::bad_key:
      if (!all.without_key(a, key)) all.wait(a);
      all.keys_.leave(key);
      break;
    default:
      operation_failed(
          all.network_, how, a->rank(),
          format("an atomic operation on %zu bytes of rank %d", std::size_t{a->asked.bytes}, a->rank()),
          without_network_atomics);
  }
}

bool network_atomics::advance() {
  bool moved = false;
  std::size_t stuck = 0;
  while (waiting_.size() > stuck && stuck < tried_at_once) {
    network_atomic* const first = waiting_.front();
    waiting_.pop_front();
    if (start(first)) {
      count(-1);
      moved = true;
    } else {
      waiting_.push_back(first);  // others may wait for other ranks
      ++stuck;
    }
  }
  return moved;
}

}  // namespace atl::engine
