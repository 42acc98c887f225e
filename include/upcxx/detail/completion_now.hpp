#pragma once

/// Notifications of an operation whose events have all happened before its call returns: put, get and copy
/// between memories that this process can address.

#include <cstddef>
#include <cstring>
#include <memory>
#include <new>
#include <tuple>
#include <type_traits>
#include <utility>

#include <upcxx/detail/completion_items.hpp>
#include <upcxx/detail/config.hpp>
#include <upcxx/detail/lpc.hpp>

namespace upcxx::inline UPCXX_MODE::detail {

/// Supplies values to a promise later, in user-level progress of the current persona.
template <class... V, class... T, class... U>
void fulfil_later(promise<T...> const& target, U&&... values) {
  void* const raw = detail::promise_require(target);
  if constexpr (sizeof...(U) == 0) {
    detail::enqueue_task(*atl::rt::this_thread().current, [raw] { cell_fulfill_and_release(raw); });
  } else {
    detail::enqueue_task(
        *atl::rt::this_thread().current,
        [raw, kept = std::tuple<std::decay_t<U>...>(std::forward<U>(values)...)]() mutable {
          std::apply([&](auto&... v) { detail::cell_fulfill_result_and_release<T...>(raw, std::move(v)...); },
                     kept);
        });
  }
}

/// Another of a value that an operation brings. Values of types that can only be moved are brought as bytes, and so are taken as bytes.
template <class V>
V another(V const& value) {
  if constexpr (std::is_copy_constructible_v<V>) {
    return value;
  } else {
    static_assert(std::is_trivially_copyable_v<V>,
                  "values of this type can be neither copied nor moved as bytes");
    alignas(V) std::byte bytes[sizeof(V)];
    std::memcpy(bytes, std::addressof(value), sizeof bytes);
    return std::move(*std::launder(reinterpret_cast<V*>(bytes)));
  }
}

template <class Event, timing When, class... V>
std::tuple<future<V...>> notify_now(future_item<Event, When> const&, V const&... values) {
  if constexpr (When == timing::eager) {
    return {upcxx::make_future<V...>(detail::another(values)...)};
  } else {
    auto pending = make_pending<V...>();
    detail::enqueue_task(
        *atl::rt::this_thread().current,
        [raw = pending.raw, kept = std::tuple<V...>(detail::another(values)...)]() mutable {
          std::apply([&](auto&... v) { detail::cell_fulfill_result_and_release<V...>(raw, std::move(v)...); },
                     kept);
        });
    return {std::move(pending.result)};
  }
}

template <class Event, timing When, class... T, class... V>
std::tuple<> notify_now(promise_item<Event, When, T...> const& item, V const&... values) {
  if constexpr (When == timing::deferred) {
    detail::fulfil_later(item.target, detail::another(values)...);
  } else if constexpr (sizeof...(V) != 0) {
    // The implicit dependency and its fulfilment cancel out; only the result is supplied.
    item.target.require_anonymous(1);
    item.target.fulfill_result(detail::another(values)...);
  } else {
    item.target.require_anonymous(0);  // checks, in checked builds, that the promise is open
  }
  return {};
}

/// The function of a request: moved out of one that is given up, copied from one that may be used again.
template <class Event, class F>
F&& function_of(lpc_item<Event, F>&& item) {
  return std::move(item.function);
}
template <class Event, class F>
decltype(auto) function_of(lpc_item<Event, F> const& item) {
  constexpr bool copyable = std::is_copy_constructible_v<F>;
  static_assert(
      copyable,
      "as_lpc: this function can only be moved, so its completion object serves one operation: make it "
      "in the call, or pass it with std::move");
  if constexpr (copyable) {
    return (item.function);
  } else {
    return std::move(const_cast<F&>(item.function));  // one error is enough
  }
}

template <class Item, class... V>
requires is_lpc_item<std::remove_cvref_t<Item>> std::tuple<> notify_now(Item&& item, V const&... values) {
  detail::enqueue_task(
      persona_access::state(*item.target),
      [function = detail::function_of(std::forward<Item>(item)),
       kept = std::tuple<V...>(detail::another(values)...)]() mutable { detail::call_with(function, kept); });
  return {};
}

template <class F, class... Args>
std::tuple<> notify_now(rpc_item<F, Args...> const&) {
  return {};  // sent by the operation, which knows the target
}

inline std::tuple<> notify_now(blocking_item const&) { return {}; }

template <class Events, class Item, class... V>
auto notify_item_now(Item&& item, V const&... values) {
  if constexpr (is_about<std::remove_cvref_t<Item>, operation_event>) {
    return detail::notify_now(std::forward<Item>(item), values...);
  } else {
    return detail::notify_now(std::forward<Item>(item));
  }
}

/// Sends the as_rpc requests of a completion object to world rank `target`. Declared here, defined with rpc.
template <class F, class... Args>
void send_remote_completion(std::int32_t target, rpc_item<F, Args...> const& item);

template <class... Items>
void send_remote_completions(std::int32_t target, completions<Items...> const& cx) {
  if constexpr ((is_rpc_item<Items> || ...)) {
    detail::apply_items(
        [&](Items const&... items) {
          auto const send = [&]<class Item>(Item const& item) {
            if constexpr (is_rpc_item<Item>) detail::send_remote_completion(target, item);
          };
          (send(items), ...);
        },
        cx.items);
  }
}

/// Delivers (or queues) every notification and returns the futures asked for. What an rvalue holds is moved on.
template <class Events, class Cx, class... V>
ATOLL_INLINE auto complete_now(Cx&& cx, V const&... values) {
  detail::check_requests<Events>(cx);
  return detail::unwrap(detail::apply_items(
      [&]<class... Item>(Item&&... items) {
        return std::tuple_cat(detail::notify_item_now<Events>(std::forward<Item>(items), values...)...);
      },
      std::forward<Cx>(cx).items));
}

}  // namespace upcxx::inline UPCXX_MODE::detail
