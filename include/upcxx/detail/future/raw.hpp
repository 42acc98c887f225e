#pragma once

/// Futures and promises as plain pointers, for runtime code that keeps them in operations,
/// message cookies and queues.
///
/// A raw handle is a `void*` that owns one reference on a state. It must go, once, into one of the functions
/// below that say "consumes". All of it belongs to the persona that owns the state. Handles of promises are
/// never null; handles of futures may be null (a ready `future<>`).

#include <cstdint>
#include <utility>

#include <atoll/base/check.hpp>
#include <upcxx/detail/config.hpp>
#include <upcxx/detail/future/future.hpp>
#include <upcxx/detail/future/value_cell.hpp>
#include <upcxx/detail/persona_state.hpp>
#include <upcxx/promise.hpp>

namespace upcxx::inline UPCXX_MODE::detail {

/// Moves a future into a raw handle.
template <class... T>
void* future_release(future<T...>&& handle) noexcept {
  return reinterpret_cast<void*>(handle_access::give_up(handle));
}

/// Moves a raw handle back into a future. Consumes it.
template <class... T>
future<T...> future_adopt(void* raw) noexcept {
  return handle_access::adopt<future<T...>>(reinterpret_cast<state_bits>(raw));
}

/// Moves a promise into a raw handle.
template <class... T>
void* promise_release(promise<T...>&& handle) noexcept {
  ATOLL_CHECK(detail::is_cell(handle_access::bits(handle)), "promise: it is used after it was moved from");
  return reinterpret_cast<void*>(handle_access::give_up(handle));
}

/// A raw handle to the state of a promise that the caller keeps.
template <class... T>
void* promise_share(promise<T...> const& handle) noexcept {
  return detail::promise_release(promise<T...>(handle));
}

/// Moves a raw handle back into a promise. Consumes it.
template <class... T>
promise<T...> promise_adopt(void* raw) noexcept {
  return handle_access::adopt<promise<T...>>(reinterpret_cast<state_bits>(raw));
}

/// Registers an operation with a promise: one more dependency, and a raw handle to fulfil it with.
template <class... T>
void* promise_require(promise<T...> const& handle) noexcept {
  handle.require_anonymous(1);
  return detail::promise_share(handle);
}

/// A new state with one dependency, as raw handle and future: what an operation that is not complete uses.
/// The current persona's progress must fulfil it.
template <class... T>
struct pending_state {
  void* raw;
  future<T...> result;
};
template <class... T>
pending_state<T...> make_pending() noexcept {
  promise<T...> fresh;
  future<T...> result = fresh.get_future();
  void* const raw = detail::promise_release(std::move(fresh));
#if ATOLL_CHECKED
  static_cast<cell*>(raw)->persona = atl::rt::persona_mark(*atl::rt::this_thread().current);
#endif
  return {raw, std::move(result)};
}

/// Removes `count` dependencies from a state of any type, and runs what becomes runnable. Keeps the handle.
inline void cell_fulfill_anonymous(void* raw, std::intptr_t count = 1) noexcept {
  auto* const state = static_cast<cell*>(raw);
  ATOLL_CHECK(state->deps >= count && count >= 1, "promise: it is fulfilled more often than it requires");
  ATOLL_CHECK(state->deps != count || !(state->flags & fut::wants_result),
              "promise: this would complete it without the results (fulfill_result)");
  fut::satisfy(state, count);
}

/// Removes one dependency and drops the reference. Consumes `raw`.
inline void cell_fulfill_and_release(void* raw) noexcept {
  cell_fulfill_anonymous(raw);
  fut::release(static_cast<cell*>(raw));
}

/// Supplies the results, constructed in place, removes one dependency and drops the reference.
/// Consumes `raw`.
template <class... T, class... U>
void cell_fulfill_result_and_release(void* raw, U&&... values) noexcept {
  detail::promise_adopt<T...>(raw).fulfill_result(std::forward<U>(values)...);
}

/// As above for a single result of type T that a call returns (constructed without a move).
template <class T, class F>
void cell_fulfill_call_and_release(void* raw, F&& make_value) noexcept {
  auto* const state = static_cast<value_cell<T>*>(static_cast<cell*>(raw));
  ATOLL_CHECK(state->deps > 0 && !(state->flags & fut::has_result),
              "promise: its results can be supplied only once; give each operation with a value a promise "
              "of its own");
  state->construct(from_call_t{}, std::forward<F>(make_value));
  fut::satisfy(state, 1);
  detail::release_typed<T>(state);
}

/// Drops the reference without fulfilling. Consumes `raw`.
inline void cell_release(void* raw) noexcept { fut::release(static_cast<cell*>(raw)); }

}  // namespace upcxx::inline UPCXX_MODE::detail
