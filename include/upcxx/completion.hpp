#pragma once

/// Completion objects: which events of an operation the program wants to hear of, and how.
/// Specification chapter "Completion".
///
///   source     the source buffer may be reused
///   remote     the data is in place at the target
///   operation  everything is done as far as the initiator is concerned; carries the operation's values
///
/// Objects are joined with `|`; futures come back in that order. One object may be given to several
/// operations. One that is given as an rvalue is used up, so what it holds need not be copyable. Plain `as_future` and `as_promise` are eager: if the event happened while the call was made,
/// the future is ready when the call returns. With UPCXX_DEFER_COMPLETION defined to non-zero before
/// inclusion they are deferred.

#include <tuple>
#include <type_traits>
#include <utility>

#include <upcxx/detail/completion_items.hpp>
#include <upcxx/detail/config.hpp>
#include <upcxx/detail/nodiscard.hpp>
#include <upcxx/future.hpp>
#include <upcxx/fwd.hpp>

namespace upcxx::inline UPCXX_MODE {

/// Requests about source completion.
struct source_cx {
  ATOLL_NODISCARD_REQUEST static constexpr auto as_future() {
    return detail::completions<detail::future_item<detail::source_event, detail::default_timing>>{};
  }
  ATOLL_NODISCARD_REQUEST static constexpr auto as_eager_future() {
    return detail::completions<detail::future_item<detail::source_event, detail::timing::eager>>{};
  }
  ATOLL_NODISCARD_REQUEST static constexpr auto as_defer_future() {
    return detail::completions<detail::future_item<detail::source_event, detail::timing::deferred>>{};
  }
  /// @param pro  must have a positive dependency count; gains one at initiation and loses it at the event.
  template <typename... T>
  ATOLL_NODISCARD_REQUEST static auto as_promise(promise<T...> pro) {
    return detail::make_promise_item<detail::source_event, detail::default_timing>(std::move(pro));
  }
  template <typename... T>
  ATOLL_NODISCARD_REQUEST static auto as_eager_promise(promise<T...> pro) {
    return detail::make_promise_item<detail::source_event, detail::timing::eager>(std::move(pro));
  }
  template <typename... T>
  ATOLL_NODISCARD_REQUEST static auto as_defer_promise(promise<T...> pro) {
    return detail::make_promise_item<detail::source_event, detail::timing::deferred>(std::move(pro));
  }
  /// Queues `func` for `target` when the event happens; its result is discarded.
  template <typename Func>
  ATOLL_NODISCARD_REQUEST static auto as_lpc(persona& target, Func&& func) {
    return detail::make_lpc_item<detail::source_event>(target, std::forward<Func>(func));
  }
  /// The initiating call returns when the source buffer may be reused, perhaps because it was copied.
  ATOLL_NODISCARD_REQUEST static constexpr auto as_buffered() {
    return detail::completions<detail::blocking_item>{};
  }
  /// The initiating call returns when the source buffer may be reused, without a copy.
  ATOLL_NODISCARD_REQUEST static constexpr auto as_blocking() {
    return detail::completions<detail::blocking_item>{};
  }
};

/// Requests about operation completion.
struct operation_cx {
  ATOLL_NODISCARD_REQUEST static constexpr auto as_future() {
    return detail::completions<detail::future_item<detail::operation_event, detail::default_timing>>{};
  }
  ATOLL_NODISCARD_REQUEST static constexpr auto as_eager_future() {
    return detail::completions<detail::future_item<detail::operation_event, detail::timing::eager>>{};
  }
  ATOLL_NODISCARD_REQUEST static constexpr auto as_defer_future() {
    return detail::completions<detail::future_item<detail::operation_event, detail::timing::deferred>>{};
  }
  template <typename... T>
  ATOLL_NODISCARD_REQUEST static auto as_promise(promise<T...> pro) {
    return detail::make_promise_item<detail::operation_event, detail::default_timing>(std::move(pro));
  }
  template <typename... T>
  ATOLL_NODISCARD_REQUEST static auto as_eager_promise(promise<T...> pro) {
    return detail::make_promise_item<detail::operation_event, detail::timing::eager>(std::move(pro));
  }
  template <typename... T>
  ATOLL_NODISCARD_REQUEST static auto as_defer_promise(promise<T...> pro) {
    return detail::make_promise_item<detail::operation_event, detail::timing::deferred>(std::move(pro));
  }
  /// Queues `func` for `target` when the event happens, with the operation's values as rvalues.
  template <typename Func>
  ATOLL_NODISCARD_REQUEST static auto as_lpc(persona& target, Func&& func) {
    return detail::make_lpc_item<detail::operation_event>(target, std::forward<Func>(func));
  }
};

/// Requests about remote completion.
struct remote_cx {
  /// Runs `func(args...)` on the master persona of the target process once the data is in place there.
  /// Rvalue arguments are kept in the object; lvalues are referred to, and serialised before
  /// the initiating call returns.
  template <typename Func, typename... Args>
  ATOLL_NODISCARD_REQUEST static auto as_rpc(Func&& func, Args&&... args) {
    return detail::make_rpc_item(std::forward<Func>(func), std::forward<Args>(args)...);
  }
};

namespace detail {
/// Joins two completion objects. Found by argument-dependent look-up: `completions` lives here.
template <typename A, typename B>
requires(is_completions_v<A>&& is_completions_v<B>) ATOLL_NODISCARD_REQUEST constexpr auto operator|(A&& a,
                                                                                                     B&& b) {
  return detail::join(std::forward<A>(a), std::forward<B>(b));
}
}  // namespace detail

}  // namespace upcxx::inline UPCXX_MODE
