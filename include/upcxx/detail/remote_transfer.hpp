#pragma once

/// The remote branch of transfers: host memory that this process does not address. Out of line, with types
/// erased as far as completion objects allow.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <atoll/engine/host_map.hpp>
#include <atoll/engine/rma.hpp>
#include <upcxx/completion.hpp>
#include <upcxx/detail/completion_now.hpp>
#include <upcxx/detail/config.hpp>
#include <upcxx/detail/future/raw.hpp>
#include <upcxx/detail/late_copy.hpp>
#include <upcxx/detail/promise_series.hpp>
#include <upcxx/detail/send.hpp>
#include <upcxx/global_ptr.hpp>

namespace upcxx::inline UPCXX_MODE::detail {

// Callers only pass on what they have been given, so that little of the remote branch stands in their code: ends as
// the two words of global pointers, or 0 and an address. Two words, since compilers would load a structure of
// them as one from where the pointer has just been stored in halves, also on the local branch.
template <class T, memory_kind Kind>
ATOLL_INLINE std::uint64_t owner_word(global_ptr<T, Kind> const& pointer) {
  return global_ptr_access::owner(pointer);
}
template <class T>
ATOLL_INLINE std::uint64_t owner_word(T*) {
  return 0;
}
template <class T, memory_kind Kind>
ATOLL_INLINE std::uint64_t address_word(global_ptr<T, Kind> const& pointer) {
  return global_ptr_access::address(pointer);
}
template <class T>
ATOLL_INLINE std::uint64_t address_word(T* pointer) {
  return reinterpret_cast<std::uintptr_t>(pointer);
}

// What the remote branch gives back, in a register: a future that comes from a call would have to be in memory, also
// on the local branch, where compilers otherwise see through it.
template <class... V>
struct raw_future {
  void* raw;
};
struct no_future {};
template <class... V>
raw_future<V...> hand_out(future<V...>&& result) {
  return {detail::future_release(std::move(result))};
}
template <class... Futures>
std::tuple<Futures...> hand_out(std::tuple<Futures...>&& results) {
  return std::move(results);
}
template <class Result>
decltype(auto) hand_out_result_of(Result&& call) {
  if constexpr (std::is_void_v<decltype(call())>) {
    call();
    return no_future{};
  } else {
    return detail::hand_out(call());
  }
}
template <class... V>
ATOLL_INLINE future<V...> take_in(raw_future<V...> result) {
  return detail::future_adopt<V...>(result.raw);
}
template <class... Futures>
ATOLL_INLINE std::tuple<Futures...> take_in(std::tuple<Futures...>&& results) {
  return std::move(results);
}
ATOLL_INLINE void take_in(no_future) {}

/// A future of a fresh promise, which lacks one fulfilment.
template <class... V>
struct pending_future {
  void* raw;
};
template <class... V>
pending_future<V...> hand_out_pending(raw_future<V...> result) {
  return {result.raw};
}
template <class Others>
Others hand_out_pending(Others&& others) {
  return std::move(others);
}
template <class... V>
ATOLL_INLINE future<V...> take_in(pending_future<V...> result) {
  // So it is already. But by the store compilers know that what follows for ready futures is the local branch's
  // alone, and see through all of it; they forget what they are told to assume about memory.
  certain_cell(reinterpret_cast<state_bits>(result.raw))->deps = 1;
  return detail::future_adopt<V...>(result.raw);
}

template <class Object>
inline constexpr bool has_promises_only = false;
template <class... Items>
inline constexpr bool has_promises_only<completions<Items...>> = (is_promise_item<Items> && ...);

/// The completion object as the remote branch takes it: a copy of its own where there can be one, for the same reason. One of promises alone
/// may be given again although it is an rvalue, as on the local branch, which only reads them.
template <class Cx>
ATOLL_INLINE decltype(auto) handed_over(std::remove_reference_t<Cx>& completions) {
  using object = std::remove_cvref_t<Cx>;
  if constexpr (std::is_lvalue_reference_v<Cx> && !std::is_copy_constructible_v<object>) {
    return (completions);
  } else if constexpr (has_promises_only<object>) {
    return object(std::as_const(completions));
  } else {
    return object(static_cast<Cx&&>(completions));
  }
}

/// An end in host memory, whoever owns it. Null is nobody's to address, so that its owner refuses.
inline atl::engine::transfer_end end_of(std::uint64_t owner, std::uint64_t address) {
  if (owner == 0 && address != 0) return {atl::engine::transfer_end::here, address};
  auto const rank = static_cast<std::uint32_t>(owner);
  if (address != 0 && atl::engine::hosts.is_local(rank))
    return atl::engine::transfer_end::in_memory(atl::engine::hosts.to_address(rank, address));
  return {static_cast<std::int32_t>(rank), address};
}

/// Starts a transfer that completes later. `begin(start, notice)` says what it does; `target`: rank that remote
/// completion goes to. `by_value`: the source goes when the call returns. `result`: see remote_start.
template <class Events, class Begin, class Cx>
auto transfer_later(char const* call, std::int32_t target, bool put, bool by_value, Begin const& begin,
                    Cx&& cx, void* result = nullptr) {
  using pending = pending_copy<std::remove_cvref_t<Cx>>;
  detail::check_requests<Events>(cx);
  auto record = std::make_unique<pending>(target, cx);
  atl::engine::remote_start start(call, current_pressure(), pending::wants_source || by_value);
  if constexpr (pending::calls_target) {
    begin(start, put ? record->call_with_data() : atl::engine::arrival_notice{});
  } else {
    begin(start, atl::engine::no_notice);
  }
  // From here on nothing can throw: only now are promises touched.
  bool const complete = start.source_left();
  bool const waits = (pending::blocks || by_value) && !complete;
  pending* const started = record.release();
  auto futures = started->register_all(std::forward<Cx>(cx), complete, waits);
  start.start(started, result);
  if (waits) started->wait_for_source();
  return detail::unwrap(std::move(futures));
}

/// Notifications of a transfer of nothing.
template <class Events, class Cx>
auto transfer_nothing(std::int32_t target, Cx&& cx) {
  detail::send_remote_completions(target, cx);
  return detail::complete_now<Events>(std::forward<Cx>(cx));
}

/// A transfer of contiguous bytes, one end of which at least is elsewhere.
template <class Events, class Cx>
ATOLL_COLD auto transfer_remotely(char const* call, std::uint64_t to_owner, std::uint64_t to_address,
                                  std::uint64_t from_owner, std::uint64_t from_address, std::size_t bytes,
                                  std::int32_t target, Cx&& cx, bool by_value = false) {
  atl::engine::transfer_end const to = end_of(to_owner, to_address);
  atl::engine::transfer_end const from = end_of(from_owner, from_address);
  return detail::hand_out_result_of([&] {
    if (bytes == 0) return detail::transfer_nothing<Events>(target, std::forward<Cx>(cx));
    if constexpr (wants_only_promise<Cx>) {
      if (from.is_here() && !to.is_here() && bytes <= atl::engine::longest_joined &&
          detail::join_others(cx, [&](auto* all, bool fresh) {
            return atl::engine::join_put(all, fresh, call, {static_cast<std::uint32_t>(to.rank), to.at},
                                         reinterpret_cast<void const*>(from.at), bytes);
          }))
        return;
    }
    return detail::transfer_later<Events>(
        call, target, from.is_here(), by_value,
        [&](atl::engine::remote_start& start, atl::engine::arrival_notice const& notice) {
          start.contiguous(to, from, bytes, notice);
        },
        std::forward<Cx>(cx));
  });
}

/// A put of one object.
template <class Events, class T, class Cx>
ATOLL_COLD auto put_value_remotely(char const* call, std::uint64_t owner, std::uint64_t address, T value,
                                   Cx&& cx) {
  return detail::transfer_remotely<Events>(call, owner, address, 0,
                                           reinterpret_cast<std::uintptr_t>(std::addressof(value)), sizeof(T),
                                           static_cast<std::int32_t>(owner), std::forward<Cx>(cx), true);
}

/// A transfer of runs of objects.
template <class Events, class Cx>
ATOLL_COLD auto transfer_runs_remotely(char const* call, std::int32_t to,
                                       std::vector<atl::engine::transfer_run> const& to_runs,
                                       std::int32_t from,
                                       std::vector<atl::engine::transfer_run> const& from_runs,
                                       std::int32_t target, Cx&& cx) {
  return detail::hand_out_result_of([&] {
    if (to_runs.empty() || from_runs.empty())
      return detail::transfer_nothing<Events>(target, std::forward<Cx>(cx));
    return detail::transfer_later<Events>(
        call, target, from == atl::engine::transfer_end::here, false,
        [&](atl::engine::remote_start& start, atl::engine::arrival_notice const& notice) {
          start.runs({to, 0}, to_runs, {from, 0}, from_runs, notice);
        },
        std::forward<Cx>(cx));
  });
}

/// A transfer of a box of elements; see engine::copy_strided.
template <class Events, class Cx>
ATOLL_COLD auto transfer_box_remotely(char const* call, std::uint64_t to_owner, std::uint64_t to_address,
                                      std::ptrdiff_t const* to_strides, std::uint64_t from_owner,
                                      std::uint64_t from_address, std::ptrdiff_t const* from_strides,
                                      std::size_t const* extents, std::size_t dimensions,
                                      std::size_t element_bytes, std::int32_t target, Cx&& cx) {
  atl::engine::transfer_end const to = end_of(to_owner, to_address);
  atl::engine::transfer_end const from = end_of(from_owner, from_address);
  bool empty = element_bytes == 0;
  for (std::size_t d = 0; d < dimensions; ++d) empty |= extents[d] == 0;
  return detail::hand_out_result_of([&] {
    if (empty) return detail::transfer_nothing<Events>(target, std::forward<Cx>(cx));
    return detail::transfer_later<Events>(
        call, target, from.is_here(), false,
        [&](atl::engine::remote_start& start, atl::engine::arrival_notice const& notice) {
          start.box(to, to_strides, from, from_strides, extents, dimensions, element_bytes, notice);
        },
        std::forward<Cx>(cx));
  });
}

}  // namespace upcxx::inline UPCXX_MODE::detail
