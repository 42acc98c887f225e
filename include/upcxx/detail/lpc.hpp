#pragma once

/// Local procedure calls: callables queued for a persona, with or without a result that travels back.

#include <cstddef>
#include <memory>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>

#include <atoll/base/check.hpp>
#include <upcxx/detail/config.hpp>
#include <upcxx/detail/future/pool.hpp>
#include <upcxx/detail/future/raw.hpp>
#include <upcxx/detail/persona_state.hpp>
#include <upcxx/future.hpp>
#include <upcxx/fwd.hpp>

namespace upcxx::inline UPCXX_MODE::detail {

struct persona_access {
  static persona& from(atl::rt::persona_state& state);
  static atl::rt::persona_state& state(persona& p);
  static persona_scope& from(atl::rt::scope_state& state);
  static atl::rt::scope_state& state(persona_scope& s);
};

/// Checked builds count the operations that a persona will be told of, to see that it does not end before.
/// Called by the thread that holds it.
inline void expect_notification([[maybe_unused]] atl::rt::persona_state& persona) {
#if ATOLL_CHECKED
  ++persona.expected;
#endif
}
inline void notification_arrived([[maybe_unused]] atl::rt::persona_state& persona) {
#if ATOLL_CHECKED
  --persona.expected;
#endif
}

/// Calls as an rvalue where that is possible, else as an lvalue.
template <class F, class... Args>
decltype(auto) call_once(F& function, Args&&... args) {
  if constexpr (std::is_invocable_v<F&&, Args&&...>) {
    return std::move(function)(std::forward<Args>(args)...);
  } else {
    return function(std::forward<Args>(args)...);
  }
}
template <class F, class... Args>
using call_once_result_t = decltype(detail::call_once(std::declval<F&>(), std::declval<Args>()...));

/// Calls once with the values of a tuple, as rvalues. Any result is thrown away.
template <class F, class Values>
void call_with(F& function, Values& values) {
  std::apply([&](auto&... v) { static_cast<void>(detail::call_once(function, std::move(v)...)); }, values);
}

/// A task that runs a callable once and then ends itself.
template <class F>
struct callable_task final : atl::rt::task, atl::fut::pooled<callable_task<F>> {
  F function;

  template <class G>
  explicit callable_task(G&& g) : function(std::forward<G>(g)) {
    run = [](atl::rt::task* t) {
      auto* const self = static_cast<callable_task*>(t);
      static_cast<void>(detail::call_once(self->function));
      delete self;
    };
  }
};

/// Queues `function` for `target`.
template <class F>
void enqueue_task(atl::rt::persona_state& target, F&& function) {
  using task_type = callable_task<std::decay_t<F>>;
  atl::rt::enqueue(target, new task_type(std::forward<F>(function)));
}

/// Says why a function cannot be queued for a persona.
template <class F>
constexpr bool check_lpc() {
  using function = std::decay_t<F>;
  constexpr bool kept = std::is_constructible_v<function, F>;
  constexpr bool callable = std::is_invocable_v<function&> || std::is_invocable_v<function>;
  static_assert(callable, "lpc: the function must be callable without arguments");
  static_assert(
      kept,
      "lpc: a function passed as an lvalue is copied, one passed as an rvalue is moved; this type does "
      "not allow it (use std::move for move-only functions)");
  return kept && callable;
}

template <class F>
void enqueue_lpc(atl::rt::persona_state& target, F&& function) {
  if constexpr (check_lpc<F>()) detail::enqueue_task(target, std::forward<F>(function));
}

/// Future type of an lpc whose function returns R, and the tuple that carries the values back.
template <class R>
struct lpc_result {
  using values = std::tuple<std::decay_t<R>>;
  using future_type = future<std::decay_t<R>>;
};
template <class R>
struct lpc_result<R&> {
  using values = std::tuple<R&>;
  using future_type = future<R&>;
};
template <>
struct lpc_result<void> {
  using values = std::tuple<>;
  using future_type = future<>;
};
template <class... V>
struct lpc_result<future<V...>> {
  using values = std::tuple<V...>;
  using future_type = future<V...>;
};

/// A value of the future that an lpc's function returned, for the caller. Others may hold that future, so its values
/// are copied. Those that can only be moved are moved: nothing else brings them to the caller.
template <class V, class U>
decltype(auto) passed_on(U& value) {
  if constexpr (std::is_reference_v<V>) {
    return static_cast<V&&>(value);
  } else if constexpr (std::is_copy_constructible_v<V>) {
    return (value);
  } else {
    return std::move(value);
  }
}

/// Travels to the target persona with the function and back to the initiator with the values.
template <class F, class R>
struct lpc_round_trip final : atl::rt::task, atl::fut::pooled<lpc_round_trip<F, R>> {
  using result =
      lpc_result<std::conditional_t<is_future_v<std::remove_cvref_t<R>>, std::remove_cvref_t<R>, R>>;
  using values = typename result::values;

  std::optional<F> function;
  std::optional<values> results;
  atl::rt::persona_state* initiator;
  void* raw = nullptr;  ///< promise of the initiator

  template <class G>
  lpc_round_trip(G&& g, atl::rt::persona_state* from) : function(std::forward<G>(g)), initiator(from) {
    run = &execute;
  }

  static void execute(atl::rt::task* t) {
    auto* const self = static_cast<lpc_round_trip*>(t);
    if constexpr (std::is_void_v<R>) {
      detail::call_once(*self->function);
      self->results.emplace();
      self->go_back();
    } else if constexpr (is_future_v<std::remove_cvref_t<R>>) {
      std::remove_cvref_t<R> pending = detail::call_once(*self->function);
      pending.then([owned = std::unique_ptr<lpc_round_trip, without_values>(self)](auto const&... v) mutable {
        lpc_round_trip* const trip = owned.release();
        trip->keep(static_cast<values*>(nullptr), v...);
        // Not at once: this may run inside the program's own fulfill_result, and the initiator's callbacks may not.
        trip->queue_back();
      });
    } else {
      self->results.emplace(detail::call_once(*self->function));
      self->go_back();
    }
  }

  /// Sends the trip back without values if the future that it waits for is given up.
  struct without_values {
    void operator()(lpc_round_trip* trip) const { trip->queue_back(); }
  };

  template <class... V, class... U>
  void keep(std::tuple<V...>*, U const&... v) {
    results.emplace(detail::passed_on<V>(const_cast<U&>(v))...);
  }

  void turn_back() {
    function.reset();  // captures end on the target
    run = &finish;
  }

  void queue_back() {
    turn_back();
    atl::rt::enqueue(*initiator, this);
  }

  void go_back() {
    turn_back();
    atl::rt::thread_state& thread = atl::rt::this_thread();
    if (thread.in_user_progress && initiator->holder.load(std::memory_order_relaxed) == &thread) {
      atl::rt::persona_state* const outer = std::exchange(thread.current, initiator);
      finish(this);
      thread.current = outer;
    } else {
      atl::rt::enqueue(*initiator, this);
    }
  }

  static void finish(atl::rt::task* t) {
    auto* const self = static_cast<lpc_round_trip*>(t);
    detail::notification_arrived(*self->initiator);
    void* const promise = std::exchange(self->raw, nullptr);
    if (self->results) {
      fulfil(promise, *self->results);
    } else {
      cell_release(promise);  // who waits for the future will wait for ever, and is told so
    }
    delete self;
  }
  template <class... V>
  static void fulfil(void* promise, std::tuple<V...>& from) {
    std::apply(
        [&](auto&&... v) { detail::cell_fulfill_result_and_release<V...>(promise, std::forward<V>(v)...); },
        std::move(from));
  }
};

template <class... V>
pending_state<V...> make_pending_for(std::type_identity<future<V...>>) {
  return make_pending<V...>();
}

template <class F>
auto enqueue_lpc_round_trip(atl::rt::persona_state& target, F&& function) {
  if constexpr (check_lpc<F>()) {
    using function_type = std::decay_t<F>;
    using result_type = call_once_result_t<function_type>;
    static_assert(std::is_void_v<result_type> || std::is_lvalue_reference_v<result_type> ||
                      std::is_move_constructible_v<std::decay_t<result_type>>,
                  "lpc: the result travels back to the caller's persona, so its type must be movable");
    using trip = lpc_round_trip<function_type, result_type>;
    atl::rt::persona_state* const me = atl::rt::this_thread().current;
    // First: where the function throws while it is copied, nothing has happened.
    auto* const made = new trip(std::forward<F>(function), me);
    auto pending = detail::make_pending_for(std::type_identity<typename trip::result::future_type>{});
    made->raw = pending.raw;
    expect_notification(*me);
    atl::rt::enqueue(target, made);
    return std::move(pending.result);
  }
}

}  // namespace upcxx::inline UPCXX_MODE::detail
