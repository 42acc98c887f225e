// Small operations of one completion that travel together.
//
// Where messages leave in bundles (network_bundles.cpp), a put of a word costs a head of its own, an acknowledgement and a record of who waits
// for it, many times what its data cost. A program that starts a flood of them mostly wants to know when all are over: it gives all the same
// promise. Then they share a completion, and those of a bundle that come behind each other share a head and an answer:
//
//   initiator                                    owner
//   head: completion, count; offset, data; …  -> puts each in its place
//   so many of its operations are over        <- one acknowledgement
//
// Each is written at the end of the message that waits to leave, if that is of the same kind and completion. What leaves at once, alone, is an
// operation as any other.

#include <cstring>
#include <new>

#include "engine/progress/guard.hpp"
#include "engine/progress/peer_order.hpp"
#include "engine/rma/remote_memory.hpp"

namespace atl::engine {

using remote::atomic_item;
using remote::atomic_series;
using remote::operation_state;
using remote::put_series;

namespace {

/// What operations of a series have in common beside their completion.
bool same_operation(atomic_request const& a, atomic_request const& b) noexcept {
  return a.operation == b.operation && a.order == b.order && a.bytes == b.bytes && a.type == b.type;
}

/// Place for an operation of a series behind the others: at the end of the message that waits to leave, if that `takes` one more, or in one
/// that begins with `first`. Null: there is no room.
template <class Series, class Takes>
std::byte* place_for(network_messages& network, std::int32_t rank, function_token token, Series const& first,
                     std::size_t item, Takes const& takes) {
  if (std::byte* const last = network.last_bundled(rank, token); last != nullptr) {
    auto head = remote::read_at<Series>(last);
    std::byte* const more =
        head.cookie == first.cookie && takes(head) ? network.lengthen_last(rank, item) : nullptr;
    if (more != nullptr) {
      ++head.count;
      remote::write_at(last, head);
      return more;
    }
  }
  std::byte* const at = network.write_bundled(rank, token, sizeof first + item);
  if (at == nullptr) return nullptr;
  remote::write_at(at, first);
  return at + sizeof first;
}

}  // namespace

joined join_put(copy_completion* all, bool fresh, char const* call, host_address const& to, void const* data,
                std::size_t bytes) noexcept {
  return remote_memory::here().join_put(all, fresh, call, to, data, bytes);
}

joined join_atomic(copy_completion* all, bool fresh, char const* call, host_address const& cell,
                   atomic_request const& what, void* result) noexcept {
  return remote_memory::here().join_atomic(all, fresh, call, cell, what, result);
}

joined remote_memory::may_join(copy_completion const* all, bool fresh, char const* call, std::int32_t rank,
                               std::size_t bytes) noexcept {
  if (!engine_.network->would_wait(rank, bytes)) return joined::no;
  // One whose operations are all over has been told so, and cannot have more; and its words about errors name one call.
  if (all == nullptr || fresh) return all == nullptr ? joined::needs_completion : joined::yes;
  operation_state const& state = remote::state_of(all);
  return state.open == 0 || state.call != call ? joined::needs_completion : joined::yes;
}

void remote_memory::add(copy_completion* all, bool fresh, char const* call, std::int32_t rank) noexcept {
  note_call(activity::rma, rank);
  leaves_for_peers();
  if (!fresh) {
    ++remote::state_of(all).open;
    return;
  }
  ::new (all->under_way) operation_state{nullptr, nullptr, call, 0, 0, rank, 1};
  begin(std::size_t{0});
}

void remote_memory::done(copy_completion* completion, std::uint32_t count) noexcept {
  operation_state& state = remote::state_of(completion);
  state.open -= count;
  if (state.open == 0) deliver(completion);
}

joined remote_memory::join_put(copy_completion* all, bool fresh, char const* call, host_address const& to,
                               void const* data, std::size_t bytes) noexcept {
  auto const rank = static_cast<std::int32_t>(to.rank);
  if (engine_.network == nullptr || engine_.shm.reaches(rank)) return joined::no;
  std::size_t const item = remote::series_item_bytes(bytes);
  guard const held;
  joined const may = may_join(all, fresh, call, rank, header_bytes + sizeof(put_series) + item);
  if (may != joined::yes) return may;
  put_series const first{reinterpret_cast<std::uintptr_t>(all), 1, static_cast<std::uint32_t>(bytes)};
  std::byte* const at =
      place_for(*engine_.network, rank, remote::token_for<&remote_memory::serve_put_series>(), first, item,
                [&](put_series const& head) { return head.bytes == first.bytes; });
  if (at == nullptr) return joined::no;
  remote::write_at(at, to.offset);
  std::memcpy(at + sizeof to.offset, data, bytes);
  add(all, fresh, call, rank);
  return joined::yes;
}

joined remote_memory::join_atomic(copy_completion* all, bool fresh, char const* call,
                                  host_address const& cell, atomic_request const& what,
                                  void* result) noexcept {
  auto const rank = static_cast<std::int32_t>(cell.rank);
  if (what.by != atomics_by::processors || engine_.network == nullptr || engine_.shm.reaches(rank))
    return joined::no;
  guard const held;
  joined const may =
      may_join(all, fresh, call, rank, header_bytes + sizeof(atomic_series) + sizeof(atomic_item));
  if (may != joined::yes) return may;
  atomic_series const first{reinterpret_cast<std::uintptr_t>(all), 1, result != nullptr ? 1U : 0U, what};
  std::byte* const at =
      place_for(*engine_.network, rank, remote::token_for<&remote_memory::serve_atomic_series>(), first,
                sizeof(atomic_item), [&](atomic_series const& head) {
                  return head.fetches == first.fetches && head.count < remote::most_atomics &&
                         same_operation(head.what, what);
                });
  if (at == nullptr) return joined::no;
  remote::write_at(
      at, atomic_item{
              cell.offset, reinterpret_cast<std::uintptr_t>(result), {what.operands[0], what.operands[1]}});
  add(all, fresh, call, rank);
  return joined::yes;
}

void remote_memory::changed_series(std::int32_t /*source*/, std::byte* payload) {
  auto const head = remote::read_at<remote::answer_head>(payload);
  std::byte const* at = payload + sizeof head;
  for (std::uint32_t i = 0; i < head.count; ++i, at += sizeof(remote::fetched_item)) {
    auto const item = remote::read_at<remote::fetched_item>(at);
    std::memcpy(reinterpret_cast<void*>(static_cast<std::uintptr_t>(item.result)), &item.value, head.slot);
  }
  done(reinterpret_cast<copy_completion*>(static_cast<std::uintptr_t>(head.cookie)), head.count);
}

}  // namespace atl::engine
