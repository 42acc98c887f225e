#pragma once

/// What completion objects are made of: one item per request.

#include <cstddef>
#include <memory>
#include <tuple>
#include <type_traits>
#include <utility>

#include <atoll/base/check.hpp>
#include <upcxx/detail/config.hpp>
#include <upcxx/detail/lpc.hpp>
#include <upcxx/detail/std_parts.hpp>
#include <upcxx/detail/type_list.hpp>
#include <upcxx/future.hpp>
#include <upcxx/fwd.hpp>

namespace upcxx::inline UPCXX_MODE::detail {

struct source_event {};
struct remote_event {};
struct operation_event {};

enum class timing { eager, deferred };
#if UPCXX_DEFER_COMPLETION
inline constexpr timing default_timing = timing::deferred;
#else
inline constexpr timing default_timing = timing::eager;
#endif

template <class Event, timing When>
struct future_item {
  using event = Event;
  static constexpr timing when = When;
};

template <class Event, timing When, class... T>
struct promise_item {
  using event = Event;
  static constexpr timing when = When;
  promise<T...> target;
};
template <class Item>
inline constexpr bool is_promise_item = false;
template <class Event, timing When, class... T>
inline constexpr bool is_promise_item<promise_item<Event, When, T...>> = true;

/// Replaces a value by another, also where the type can be copied or moved but not assigned
/// (closures, references).
template <class T, class U>
void rebuild(T& old, U&& other) {
  T* const place = std::addressof(old);
  if (place == std::addressof(other)) return;
  std::destroy_at(place);
  std::construct_at(place, std::forward<U>(other));
}

template <class Event, class F>
struct lpc_item {
  using event = Event;
  persona* target;
  F function;

  template <class G>
  lpc_item(persona* to, G&& f) : target(to), function(std::forward<G>(f)) {}
  lpc_item(lpc_item const&) = default;
  lpc_item(lpc_item&&) = default;
  lpc_item& operator=(lpc_item const& other) requires std::is_copy_constructible_v<F> {
    detail::rebuild(*this, other);
    return *this;
  }
  lpc_item& operator=(lpc_item&& other) {
    detail::rebuild(*this, std::move(other));
    return *this;
  }
  ~lpc_item() = default;
};

/// Arguments: values where they were rvalues, references where they were lvalues.
template <class F, class... Args>
struct rpc_item {
  using event = remote_event;
  F function;
  std::tuple<Args...> arguments;

  template <class G>
  rpc_item(G&& f, std::tuple<Args...>&& args) : function(std::forward<G>(f)), arguments(std::move(args)) {}
  rpc_item(rpc_item const&) = default;
  rpc_item(rpc_item&&) = default;
  rpc_item& operator=(rpc_item const& other) requires(
      std::is_copy_constructible_v<F>&& std::is_copy_constructible_v<std::tuple<Args...>>) {
    detail::rebuild(*this, other);
    return *this;
  }
  rpc_item& operator=(rpc_item&& other) {
    detail::rebuild(*this, std::move(other));
    return *this;
  }
  ~rpc_item() = default;
};

/// as_buffered and as_blocking: source completion before the call returns, which every operation
/// here provides.
struct blocking_item {
  using event = source_event;
};

// ---- which sort of item?

template <class T>
inline constexpr bool is_future_item = false;
template <class Event, timing When>
inline constexpr bool is_future_item<future_item<Event, When>> = true;
template <class T>
inline constexpr bool is_lpc_item = false;
template <class Event, class F>
inline constexpr bool is_lpc_item<lpc_item<Event, F>> = true;
template <class T>
inline constexpr bool is_rpc_item = false;
template <class F, class... Args>
inline constexpr bool is_rpc_item<rpc_item<F, Args...>> = true;

/// The requests of a completion object. No std::tuple: its constructors take long to compile, and every
/// program would pay for them.
template <class... Items>
struct item_list {};
template <class Item, class... More>
struct item_list<Item, More...> {
  Item first;
  item_list<More...> more;
};

/// Calls `function` with all items: rvalues if `items` is one.
template <class Function, class List, class... Before>
constexpr decltype(auto) apply_items(Function&& function, [[maybe_unused]] List&& items, Before&&... before) {
  if constexpr (std::is_same_v<std::remove_cvref_t<List>, item_list<>>) {
    return function(std::forward<Before>(before)...);
  } else {
    return detail::apply_items(function, std::forward<List>(items).more, std::forward<Before>(before)...,
                               std::forward<List>(items).first);
  }
}

template <class... B>
constexpr item_list<B...> join_lists(item_list<>&&, item_list<B...>&& b) {
  return std::move(b);
}
template <class Item, class... More, class... B>
constexpr item_list<Item, More..., B...> join_lists(item_list<Item, More...>&& a, item_list<B...>&& b) {
  return {std::move(a.first), detail::join_lists(std::move(a.more), std::move(b))};
}

/// A completion object.
template <class... Items>
struct completions {
  item_list<Items...> items;
};

template <class T>
inline constexpr bool is_completions_exact = false;
template <class... Items>
inline constexpr bool is_completions_exact<completions<Items...>> = true;
template <class T>
inline constexpr bool is_completions_v = is_completions_exact<std::remove_cvref_t<T>>;

template <class... A, class... B>
constexpr completions<A..., B...> join(completions<A...> a, completions<B...> b) {
  return {detail::join_lists(std::move(a.items), std::move(b.items))};
}

template <class Event, timing When, class... T>
auto make_promise_item(promise<T...>&& target) {
#if ATOLL_CHECKED
  target.require_anonymous(0);  // looks whether it is open
#endif
  return completions<promise_item<Event, When, T...>>{{{std::move(target)}, {}}};
}

template <class Event, class F>
auto make_lpc_item(persona& target, F&& function) {
  static_assert(
      std::is_constructible_v<std::decay_t<F>, F> && std::is_move_constructible_v<std::decay_t<F>>,
      "as_lpc: a function passed as an lvalue is copied, one passed as an rvalue is moved; this type "
      "does not allow it (use std::move for move-only functions)");
  using item = lpc_item<Event, std::decay_t<F>>;
  return completions<item>{{item(&target, std::forward<F>(function)), {}}};
}

template <class F, class... Args>
auto make_rpc_item(F&& function, Args&&... args) {
  static_assert(
      std::is_constructible_v<std::decay_t<F>, F> &&
          ((std::is_lvalue_reference_v<Args> || std::is_move_constructible_v<Args>)&&...),
      "as_rpc: the function and the arguments that are passed as rvalues are kept in the completion "
      "object, so they must be movable; pass lvalues of others");
  using item = rpc_item<std::decay_t<F>, Args...>;  // Args is X& for lvalues, X for rvalues
  return completions<item>{
      {item(std::forward<F>(function), std::tuple<Args...>(std::forward<Args>(args)...)), {}}};
}

/// Does the object say that the operation is to go into a stream of the program (atoll/stream.hpp)?
template <class Cx>
inline constexpr bool goes_into_stream = false;
template <class... Items>
inline constexpr bool goes_into_stream<completions<Items...>> = (requires { typename Items::into_stream; } ||
                                                                 ...);

/// Does it ask for what only streams give?
template <class Cx>
inline constexpr bool needs_stream = false;
template <class... Items>
inline constexpr bool needs_stream<completions<Items...>> = (requires { typename Items::of_streams; } || ...);

// ---- what an operation offers

/// Which events an operation has; operation completion carries the types in `Values`.
template <bool Source, bool Remote, bool Operation, class Values = type_list<>>
struct operation_events {
  static constexpr bool source = Source;
  static constexpr bool remote = Remote;
  static constexpr bool operation = Operation;
  using values = Values;
};

template <class Item, class Event>
inline constexpr bool is_about = std::is_same_v<typename Item::event, Event>;

/// Does another thread perhaps hear of source completion before the initiating call returns?
template <class Cx>
inline constexpr bool tells_source_by_lpc = false;
template <class... Items>
inline constexpr bool tells_source_by_lpc<completions<Items...>> =
    ((is_lpc_item<Items> && is_about<Items, source_event>) || ...);

/// Values of an item's event.
template <class Events, class Item>
using values_for = std::conditional_t<is_about<Item, operation_event>, typename Events::values, type_list<>>;

template <class To, class From>
inline constexpr bool constructible_each = false;  // different numbers of types
template <class... To, class... From>
requires(sizeof...(To) ==
         sizeof...(From)) inline constexpr bool constructible_each<type_list<To...>, type_list<From...>> =
    (std::is_constructible_v<To, From> && ...);

/// Can the request take the values of its event? A promise takes an event without values whatever its type.
template <class Item, class Values>
inline constexpr bool promise_fits = true;
template <class Event, timing When, class... T, class... V>
inline constexpr bool promise_fits<promise_item<Event, When, T...>, type_list<V...>> =
    sizeof...(V) == 0 || constructible_each<type_list<T...>, type_list<V...>>;
template <class Item, class Values>
inline constexpr bool lpc_fits = true;
template <class Event, class F, class... V>
inline constexpr bool lpc_fits<lpc_item<Event, F>, type_list<V...>> =
    std::is_invocable_v<F, V...> || std::is_invocable_v<F&, V...>;

template <class Events, class... Items>
constexpr void check_requests(completions<Items...> const&) {
  constexpr bool wants_source = (is_about<Items, source_event> || ...);
  constexpr bool wants_remote = (is_about<Items, remote_event> || ...);
  constexpr bool wants_operation = (is_about<Items, operation_event> || ...);
  static_assert(!wants_source || Events::source,
                "this operation has no source completion to ask for (source_cx)");
  static_assert(
      !wants_remote || Events::remote,
      "this operation has no remote completion to ask for (remote_cx): only puts and copies that arrive "
      "at a rank have. After a get, call by rpc_ff from then() or operation_cx::as_lpc");
  static_assert(!wants_operation || Events::operation,
                "this operation has no operation completion to ask for (operation_cx)");
  static_assert(!Events::operation || wants_operation || (Events::remote && wants_remote),
                "nobody would learn that this operation is complete: ask for operation_cx (or remote_cx, "
                "where the operation has it)");
  static_assert(
      (promise_fits<Items, values_for<Events, Items>> && ...),
      "as_promise: the promise cannot take the values that the operation gives; its types must be those "
      "of the future that operation_cx::as_future() would return");
  static_assert(
      (lpc_fits<Items, values_for<Events, Items>> && ...),
      "as_lpc: the function cannot be called with the values that the operation gives (rvalues of the "
      "types of the future that operation_cx::as_future() would return)");
}

template <class Values>
struct future_of;
template <class... V>
struct future_of<type_list<V...>> {
  using type = future<V...>;
};

/// No futures: void; one: it; several: their tuple, in the order of the requests.
inline void unwrap(std::tuple<>&&) {}
template <class F>
F unwrap(std::tuple<F>&& t) {
  return std::get<0>(std::move(t));
}
template <class F, class G, class... More>
std::tuple<F, G, More...> unwrap(std::tuple<F, G, More...>&& t) {
  return std::move(t);
}

}  // namespace upcxx::inline UPCXX_MODE::detail
