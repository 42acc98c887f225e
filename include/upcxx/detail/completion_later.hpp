#pragma once

/// Notifications of an operation that completes later: kept with the operation, fired once in user-level
/// progress of the initiating persona.

#include <tuple>
#include <type_traits>
#include <utility>

#include <upcxx/detail/completion_items.hpp>
#include <upcxx/detail/completion_now.hpp>
#include <upcxx/detail/config.hpp>
#include <upcxx/detail/lpc.hpp>

namespace upcxx::inline UPCXX_MODE::detail {

/// A future or promise that waits for the operation's values V...
template <class... V>
struct waiting_state {
  void* raw;
  template <class... U>
  void fire(U&&... values) {
    if constexpr (sizeof...(V) == 0) {
      cell_fulfill_and_release(raw);
    } else {
      detail::cell_fulfill_result_and_release<V...>(raw, std::forward<U>(values)...);
    }
  }
};

template <class F>
struct waiting_lpc {
  persona* target;
  F function;
  template <class... U>
  void fire(U&&... values) {
    detail::enqueue_task(persona_access::state(*target),
                         [f = std::move(function),
                          kept = std::tuple<std::decay_t<U>...>(std::forward<U>(values)...)]() mutable {
                           detail::call_with(f, kept);
                         });
  }
};

struct waiting_nothing {
  template <class... U>
  void fire(U&&...) {}
};

/// The part of an item that waits, made at initiation; `out` receives the future if the item asks for one.
template <class... V, timing When>
auto make_waiting(type_list<V...>, future_item<operation_event, When> const&, std::tuple<future<V...>>& out) {
  auto pending = make_pending<V...>();
  out = std::tuple<future<V...>>(std::move(pending.result));
  return waiting_state<V...>{pending.raw};
}
template <class... V, timing When, class... T>
auto make_waiting(type_list<V...>, promise_item<operation_event, When, T...> const& item, std::tuple<>&) {
  if constexpr (sizeof...(V) == 0) {
    return waiting_state<>{detail::promise_require(item.target)};
  } else {
    return waiting_state<T...>{detail::promise_require(item.target)};
  }
}
template <class... V, class F>
auto make_waiting(type_list<V...>, lpc_item<operation_event, F>&& item, std::tuple<>&) {
  return waiting_lpc<F>{item.target, std::move(item.function)};
}
template <class... V, class F>
auto make_waiting(type_list<V...>, lpc_item<operation_event, F> const& item, std::tuple<>&) {
  return waiting_lpc<F>{item.target, detail::function_of(item)};
}
/// Source completion of operations that are serialised before the call returns happens now.
template <class... V, class Item, class Out>
requires(is_about<std::remove_cvref_t<Item>, source_event>) auto make_waiting(type_list<V...>, Item&& item,
                                                                              Out& out) {
  out = detail::notify_now(std::forward<Item>(item));
  return waiting_nothing{};
}

template <class Events, class Item>
using future_tuple_of =
    std::conditional_t<is_future_item<Item>, std::tuple<typename future_of<values_for<Events, Item>>::type>,
                       std::tuple<>>;

template <class Events, class Item>
using waiting_of = decltype(detail::make_waiting(typename Events::values{}, std::declval<Item>(),
                                                 std::declval<future_tuple_of<Events, Item>&>()));

/// All that waits for one operation.
template <class Events, class Cx>
class notifications;
template <class Events, class... Items>
class notifications<Events, completions<Items...>> {
 public:
  using futures = decltype(std::tuple_cat(std::declval<future_tuple_of<Events, Items>>()...));

  /// Registers every request; the futures go to `out`. What an rvalue holds is moved on.
  template <class Cx>
  notifications(Cx&& cx, futures& out)
      : notifications(std::forward<Cx>(cx), std::tuple<future_tuple_of<Events, Items>...>{}, out) {}

  /// Fires everything, once. With one receiver the values are moved into it, with several copied.
  template <class... U>
  void fire(U&&... values) {
    constexpr std::size_t receivers = (std::size_t{0} + ... + (is_about<Items, operation_event> ? 1 : 0));
    std::apply(
        [&](auto&... w) {
          if constexpr (receivers <= 1) {
            (w.fire(std::forward<U>(values)...), ...);
          } else {
            (w.fire(std::as_const(values)...), ...);
          }
        },
        waiting_);
  }

  /// The single raw promise, where the only request is one future (the usual case): results are then
  /// constructed in it.
  static constexpr bool one_future =
      sizeof...(Items) >= 1 &&
      ((is_about<Items, operation_event> ? (is_future_item<Items> ? 1 : 100) : 0) + ...) == 1;
  void* raw() {
    void* found = nullptr;
    std::apply(
        [&](auto&... w) {
          auto const look = [&](auto& one) {
            if constexpr (requires { one.raw; }) found = one.raw;
          };
          (look(w), ...);
        },
        waiting_);
    return found;
  }

 private:
  template <class Cx>
  notifications(Cx&& cx, std::tuple<future_tuple_of<Events, Items>...> parts, futures& out)
      : waiting_(register_all(std::forward<Cx>(cx), parts, std::index_sequence_for<Items...>{})) {
    out = std::apply([](auto&... part) { return std::tuple_cat(std::move(part)...); }, parts);
  }
  template <class Cx, class Parts, std::size_t... Indices>
  static auto register_all(Cx&& cx, Parts& parts, std::index_sequence<Indices...>) {
    return detail::apply_items(
        [&]<class... Item>(Item&&... items) {
          return std::tuple<waiting_of<Events, Items>...>{detail::make_waiting(
              typename Events::values{}, std::forward<Item>(items), std::get<Indices>(parts))...};
        },
        std::forward<Cx>(cx).items);
  }

  std::tuple<waiting_of<Events, Items>...> waiting_;
};

}  // namespace upcxx::inline UPCXX_MODE::detail
