#pragma once

/// Class `future`, `make_future` and `to_future`. Users include <upcxx/future.hpp>.

#include <cstddef>
#include <tuple>
#include <type_traits>
#include <utility>

#include <atoll/base/check.hpp>
#include <upcxx/detail/config.hpp>
#include <upcxx/detail/future/then_cell.hpp>
#include <upcxx/detail/future/traits.hpp>
#include <upcxx/detail/future/value_cell.hpp>
#include <upcxx/detail/runtime.hpp>

namespace upcxx::inline UPCXX_MODE {

/// Consumer's handle to a state that becomes ready once, with results of types `T...`.
///
/// Copies share the state, like a `shared_ptr` whose count is not atomic: all handles connected by callbacks
/// and promises belong to one persona, and the user serialises every use of them. Results can be read any
/// number of times; references to them live as long as some handle to the state.
///
/// @tparam T  complete types or references; const is allowed, void is not. May be empty.
/// @progress  none, but for the `wait` family: user.
/// @see       UPC++ v1.0 specification, chapter on futures and promises.
template <class... T>
class future {
  static_assert((!std::is_void_v<T> && ...),
                "future: an element type cannot be void; a future without values is future<>");

 public:
  /// A future that never becomes ready: `then` never runs its callback, `wait` never returns.
  constexpr future() noexcept : bits_(detail::never_state) {}

  future(future const& other) noexcept : bits_(other.bits_) {
    if (detail::is_cell(bits_)) {
      detail::fut::retain(detail::as_cell(bits_));
    }
  }
  /// `other` is afterwards like a default-constructed future.
  future(future&& other) noexcept : bits_(std::exchange(other.bits_, detail::never_state)) {}
  future& operator=(future const& other) noexcept {
    future(other).swap(*this);
    return *this;
  }
  future& operator=(future&& other) noexcept {
    future(std::move(other)).swap(*this);
    return *this;
  }
  ~future() {
    if (detail::is_cell(bits_)) {
      detail::release_typed<T...>(detail::as_cell(bits_));
    }
  }

  void swap(future& other) noexcept { std::swap(bits_, other.bits_); }

  /// True once results are supplied and no dependency is left.
  bool is_ready() const noexcept {
    if constexpr (sizeof...(T) == 0) {
      return detail::is_cell(bits_) ? detail::as_cell(bits_)->deps == 0 : bits_ == detail::ready_state;
    } else {
      return detail::is_cell(bits_) && detail::as_cell(bits_)->deps == 0;
    }
  }
  /// The older name of `is_ready`.
  bool ready() const noexcept { return is_ready(); }

  /// Copies of all results; always a tuple. The future must be ready.
  std::tuple<T...> result_tuple() const noexcept { return pick_all<detail::element_value_t>(); }

  /// A copy of result `Index`. Without `Index`: nothing, the only result, or a tuple, depending on their number.
  /// Any other `Index` returns void. The future must be ready.
  template <int Index = -1>
  typename decltype(detail::element_result<Index, detail::element_value_t, T...>())::type result()
      const noexcept {
    return pick<Index, detail::element_value_t>();
  }

  /// As `result`, but without a copy: `U const&` for a value, the reference itself for a reference.
  template <int Index = -1>
  typename decltype(detail::element_result<Index, detail::element_ref_t, T...>())::type result_reference()
      const noexcept {
    return pick<Index, detail::element_ref_t>();
  }

  /// Makes user-level progress until the future is ready, then returns `result_tuple()`. A ready future makes
  /// no progress. The future must belong to an active persona of the calling thread; not for callbacks that
  /// run inside progress.
  std::tuple<T...> wait_tuple() const noexcept {
    wait_ready();
    return result_tuple();
  }
  /// As `wait_tuple`, returning `result<Index>()`.
  template <int Index = -1>
  typename decltype(detail::element_result<Index, detail::element_value_t, T...>())::type wait()
      const& noexcept {
    wait_ready();
    return result<Index>();
  }
  /// The same for a temporary, which is given up. What is ready at once, and nobody else's, then never meets what is
  /// not, and compilers see through all of it.
  template <int Index = -1>
  typename decltype(detail::element_result<Index, detail::element_value_t, T...>())::type wait() && noexcept {
    if (!detail::is_lone<T...>(bits_)) [[unlikely]]
      return wait_apart<Index>(std::exchange(bits_, detail::never_state));
    future const taken(adopt_t{}, std::exchange(bits_, detail::never_state));
    return taken.template result<Index>();
  }
  /// As `wait_tuple`, returning `result_reference<Index>()`, which must not outlive the last handle.
  template <int Index = -1>
  typename decltype(detail::element_result<Index, detail::element_ref_t, T...>())::type wait_reference()
      const noexcept {
    wait_ready();
    return result_reference<Index>();
  }

  /// Calls `callback` with the results: at once when they are there, else inside the call that fulfils them.
  ///
  /// @param callback  takes `U const&` for each element `U`, the reference itself for a reference. Copied if
  ///                  an lvalue, else moved; ends as soon as it has run, or with the state if it never runs.
  /// @return          `future<>` for void; for a returned future, one that becomes ready with it and has its
  ///                  results; else a future of the returned value (of its decayed type for `R&&`, of the
  ///                  reference for `R&`).
  template <class Fn>
  typename detail::callback_traits<std::decay_t<Fn>, T...>::result then(Fn&& callback) const noexcept {
    using function = std::decay_t<Fn>;
    using traits = detail::callback_traits<function, T...>;
    using result_type = typename traits::result;
    static_assert(
        traits::invocable,
        "future::then: the callback cannot be called with the results; it gets one argument for each "
        "element of the future: `U const&` for a value of type U, the reference itself for a reference");
    static_assert(
        std::is_constructible_v<function, Fn>,
        "future::then: a callback passed as an lvalue is copied, one passed as an rvalue is moved; this "
        "type does not allow it (use std::move for move-only callbacks)");
    if constexpr (traits::invocable && std::is_constructible_v<function, Fn>) {
      if (is_ready()) {
        return run_now<function, traits>(std::forward<Fn>(callback));
      }
      if (!detail::is_cell(bits_)) {
        return result_type();
      }
      auto* const waiting =
          detail::new_cell<detail::then_cell<function, result_type, T...>>(std::forward<Fn>(callback));
#if ATOLL_CHECKED
      // Ready when this future is, unless the callback returns another one.
      if constexpr (!traits::returns_future) waiting->persona = detail::as_cell(bits_)->persona;
#endif
      detail::fut::retain(waiting);  // for its registration
      detail::fut::add_dependent(detail::as_cell(bits_), &waiting->node);
      return detail::handle_access::adopt<result_type>(detail::as_bits(waiting));
    }
  }

 private:
  friend struct detail::handle_access;
  struct adopt_t {};
  static constexpr int element_count = static_cast<int>(sizeof...(T));

  future(adopt_t, detail::state_bits bits) noexcept : bits_(bits) {}

  template <std::size_t Index>
  decltype(auto) get() const noexcept {
    return detail::results_of<T...>(detail::certain_cell(bits_)).template get<Index>();
  }

  /// What `result` and `result_reference` return, with elements seen through `View`.
  template <int Index, template <class> class View>
  typename decltype(detail::element_result<Index, View, T...>())::type pick() const noexcept {
    constexpr int at = Index == -1 && element_count == 1 ? 0 : Index;
    if constexpr (at >= 0 && at < element_count) {
      check_readable();
      check_copyable<View<detail::nth_t<static_cast<std::size_t>(at), T...>>>();
      return get<at>();
    } else if constexpr (at == -1 && element_count != 0) {
      return pick_all<View>();
    } else {
      check_readable();
    }
  }
  template <template <class> class View>
  std::tuple<View<T>...> pick_all() const noexcept {
    check_readable();
    check_copyable<View<T>...>();
    return [&]<std::size_t... Indices>(std::index_sequence<Indices...>) {
      return std::tuple<View<T>...>(get<Indices>()...);
    }
    (std::index_sequence_for<T...>{});
  }

  template <class... U>
  static constexpr void check_copyable() {
    static_assert(
        ((std::is_reference_v<U> || std::is_copy_constructible_v<U>)&&...),
        "future: result and wait copy the results, and this type cannot be copied; use result_reference, "
        "wait_reference, or then with a callback that takes `U const&`");
  }

  template <int Index>
  [[gnu::noinline]] static auto wait_apart(detail::state_bits bits) noexcept ->
      typename decltype(detail::element_result<Index, detail::element_value_t, T...>())::type {
    future const apart(adopt_t{}, bits);
    apart.wait_ready();
    return apart.template result<Index>();
  }

  void check_readable() const noexcept {
    ATOLL_CHECK(is_ready(),
                "future: the results are read before it is ready: wait for it, or read them in then()");
  }

  void wait_ready() const noexcept {
    if (!is_ready()) {
      ATOLL_CHECK(bits_ != detail::never_state,
                  "wait: the future was default-constructed or moved from, and will never be ready");
      ATOLL_CHECK(
          detail::as_cell(bits_)->refs != 1,
          "wait: the future will never be ready: its promise ended unfulfilled, and nobody else holds it");
#if ATOLL_CHECKED
      atl::rt::check_waiter(detail::as_cell(bits_)->persona);
#endif
      atl::rt::wait_until([](void const* self) { return static_cast<future const*>(self)->is_ready(); },
                          this);
    }
  }

  // The callback is taken over as it would be if it had to wait, so that captures end the same way.
  template <class Function, class Traits, class Fn>
  typename Traits::result run_now(Fn&& passed) const noexcept try {
    using result_type = typename Traits::result;
    [[maybe_unused]] std::conditional_t<element_count == 0, int, future> keep_results{};
    if constexpr (element_count != 0) {
      keep_results = *this;  // the callback may drop the last handle
    }
    detail::cell* const source = detail::is_cell(bits_) ? detail::as_cell(bits_) : nullptr;
    Function callback(std::forward<Fn>(passed));
    if constexpr (Traits::returns_void) {
      Traits::run(callback, source);
      return detail::handle_access::adopt<future<>>(detail::ready_state);
    } else if constexpr (Traits::returns_future) {
      return Traits::run(callback, source);
    } else {
      return ready_from_call(static_cast<result_type*>(nullptr),
                             [&]() -> decltype(auto) { return Traits::run(callback, source); });
    }
  } catch (...) {
    atl::rt::exception_left("a callback of then");
  }

  template <class R, class F>
  static future<R> ready_from_call(future<R>*, F&& call) {
    auto* const c = detail::new_cell<detail::value_cell<R>>(0, std::uint8_t{0});
    c->construct(detail::from_call_t{}, call);
    return detail::handle_access::adopt<future<R>>(detail::as_bits(c));
  }

  detail::state_bits bits_;
};

static_assert(sizeof(future<int>) == sizeof(void*));
static_assert(!std::is_trivially_copyable_v<future<>>);  // cannot slip into an RPC as bytes

template <class... T>
void swap(future<T...>& a, future<T...>& b) noexcept {
  a.swap(b);
}

namespace detail {

/// A ready future whose results are constructed in place from `values`. No memory for `future<>`.
template <class... T, class... U>
future<T...> make_ready(U&&... values) noexcept {
  static_assert(sizeof...(T) == sizeof...(U));
  constexpr bool movable = (std::is_constructible_v<T, U&&> && ...);
  static_assert(movable,
                "make_future, to_future, when_all: a value of a type that cannot be moved cannot be kept");
  if constexpr (sizeof...(T) == 0) {
    return handle_access::adopt<future<>>(ready_state);
  } else {
    auto* const c = detail::new_cell<value_cell<T...>>(0, std::uint8_t{0});
    c->construct(std::in_place, std::forward<U>(values)...);
    return handle_access::adopt<future<T...>>(detail::as_bits(c));
  }
}

template <class Value>
struct to_future_result {
  using type = future<Value>;
};
template <class... T>
struct to_future_result<future<T...>> {
  using type = future<T...>;
};

}  // namespace detail

/// A ready future that holds the arguments. Deduced types are decayed; a reference element must be asked for,
/// as in `make_future<int&>(x)`. A future as argument stays one: see `to_future`.
template <class... T>
future<T...> make_future(T... results) noexcept {
  return detail::make_ready<T...>(std::forward<T>(results)...);
}

/// The argument itself if it is a future, else a ready future of it.
template <class T>
typename detail::to_future_result<T>::type to_future(T future_or_value) noexcept {
  if constexpr (detail::is_future_v<T>) {
    return future_or_value;
  } else {
    return detail::make_ready<T>(std::move(future_or_value));
  }
}

}  // namespace upcxx::inline UPCXX_MODE
