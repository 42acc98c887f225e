#include "engine/rma/network_atomics.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "engine/rma/remote_memory.hpp"

namespace atl::engine {

using remote::network_atomic;
using transport::started;

network_form (*network_form_of)(atomic_request const&) noexcept = nullptr;

bool atomics_by_network(transport::abilities const& network, std::span<transport::ability const> operations,
                        std::optional<bool> wanted) noexcept {
  if (wanted == false || !network.atomics_with_processor) return false;
  return std::all_of(operations.begin(), operations.end(), [&](transport::ability const& can) {
    // What needs the target's polls is a message, whoever calls it an atomic.
    return can.how == transport::support::native && (wanted == true || !can.needs_target);
  });
}

namespace remote {

struct network_atomic final : transport::operation {
  network_atomics& all;
  host_address cell;
  atomic_request asked;
  network_form form;
  copy_completion* completion = nullptr;
  peer_keys::entry* key = nullptr;
  std::uint64_t before = 0;

  network_atomic(network_atomics& owner, host_address const& where, atomic_request const& what, callback on)
      : operation(on, transport::ask_finished),
        all(owner),
        cell(where),
        asked(what),
        form(network_form_of(what)) {}
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
  if (waiting_.size() >= most_waiting) return nullptr;
  peer_keys::entry const* const key =
      keys_.look(static_cast<std::int32_t>(cell.rank), cell.offset >> key_block_log);
  if (key == nullptr || key->now != peer_keys::state::ready) return nullptr;
  return new network_atomic(*this, cell, what, &on_event);
}

void network_atomics::give_up(network_atomic* a) noexcept { delete a; }

void network_atomics::begin(network_atomic* a, copy_completion* completion) {
  a->completion = completion;
  if (waiting_.empty() && start(a)) return;
  waiting_.push_back(a);
  count(1);
}

/// False: the network has no room.
bool network_atomics::start(network_atomic* a) {
  peer_keys::entry* const key = keys_.look(a->rank(), a->block());
  bool const usable = key != nullptr && key->now == peer_keys::state::ready && key->begin <= a->cell.offset &&
                      a->cell.offset + a->asked.bytes <= key->end;
  if (!usable) {
    by_message(a);
    return true;
  }
  a->key = key;
  keys_.use(key);
  started const s = network_.transport().atomic(a->rank(), {key->key, a->cell.offset - key->begin},
                                                a->form.op, a->form.type, a->form.operands.data(),
                                                {a->form.fetches ? &a->before : nullptr, nullptr}, a);
  if (s == started::under_way || s == started::source_free) return true;
  if (s == started::unsupported || s == started::unreachable) keys_.drop(key);
  keys_.leave(std::exchange(a->key, nullptr));
  if (s == started::no_room) return false;
  if (s == started::complete) {
    finish(a);
  } else {
    by_message(a);
  }
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
  if (how == transport::outcome::bad_key) all.keys_.drop(key);
  all.keys_.leave(key);
  switch (how) {
    case transport::outcome::ok:
      all.finish(a);
      break;
    case transport::outcome::bad_key:
      all.by_message(a);
      break;
    default:
      all.network_.lost(a->rank(), all.network_.transport().last_error());
  }
}

bool network_atomics::advance() {
  bool moved = false;
  while (!waiting_.empty() && start(waiting_.front())) {
    waiting_.pop_front();
    count(-1);
    moved = true;
  }
  return moved;
}

}  // namespace atl::engine
