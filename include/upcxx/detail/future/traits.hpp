#pragma once

/// Type computations of futures: result types, callbacks, and access to the bits of a handle.

#include <cstddef>
#include <tuple>
#include <type_traits>
#include <utility>

#include <upcxx/detail/config.hpp>
#include <upcxx/detail/future/results.hpp>
#include <upcxx/detail/future/value_cell.hpp>
#include <upcxx/fwd.hpp>

namespace upcxx::inline UPCXX_MODE::detail {

/// Reads and makes handles. `adopt` takes over one reference; `bits` gives none away.
struct handle_access {
  template <class Handle>
  static state_bits bits(Handle const& handle) noexcept {
    return handle.bits_;
  }
  template <class Handle>
  static Handle adopt(state_bits bits) noexcept {
    return Handle(typename Handle::adopt_t{}, bits);
  }
  /// The handle's reference becomes the caller's.
  template <class Handle>
  static state_bits give_up(Handle& handle) noexcept {
    return std::exchange(handle.bits_, never_state);
  }
};

template <class X>
inline constexpr bool is_future_v = false;
template <class... T>
inline constexpr bool is_future_v<future<T...>> = true;

/// What `result<Index>()` returns, when elements are seen through `View`.
template <int Index, template <class> class View, class... T>
constexpr auto element_result() {
  constexpr int count = static_cast<int>(sizeof...(T));
  if constexpr (Index >= 0 && Index < count) {
    return std::type_identity<View<nth_t<static_cast<std::size_t>(Index), T...>>>{};
  } else if constexpr (Index != -1 || count == 0) {
    return std::type_identity<void>{};
  } else if constexpr (count == 1) {
    return std::type_identity<View<nth_t<0, T...>>>{};
  } else {
    return std::type_identity<std::tuple<View<T>...>>{};
  }
}

/// The element itself: what `result` copies.
template <class U>
using element_value_t = U;

/// `f(a...)`, for pointers to members too, without <functional>.
template <class F, class... A>
decltype(auto) call(F&& f, A&&... arguments) {
  if constexpr (std::is_member_pointer_v<std::remove_cvref_t<F>>) {
    return std::apply(f, std::tuple<A&&...>(static_cast<A&&>(arguments)...));
  } else {
    return static_cast<F&&>(f)(static_cast<A&&>(arguments)...);
  }
}

/// The future type that `then` returns for a callback that returns R.
template <class R>
struct then_result {
  using type = future<R>;
};
template <class R>
requires std::is_void_v<R>
struct then_result<R> {
  using type = future<>;
};
template <class R>
requires is_future_v<std::remove_cvref_t<R>>
struct then_result<R> {
  using type = std::remove_cvref_t<R>;
};
template <class R>
requires(std::is_rvalue_reference_v<R> && !is_future_v<std::remove_cvref_t<R>>) struct then_result<R> {
  using type = future<std::decay_t<R>>;
};

/// A stored callback of (decayed) type Fn that gets the elements T. It runs once,
/// hence as an rvalue if it can.
template <class Fn, class... T>
struct callback_traits {
  static constexpr bool as_rvalue = std::is_invocable_v<Fn, element_ref_t<T>...>;
  static constexpr bool invocable =
      std::disjunction_v<std::bool_constant<as_rvalue>, std::is_invocable<Fn&, element_ref_t<T>...>>;
  using callee = std::conditional_t<as_rvalue, Fn&&, Fn&>;

  static constexpr auto returned_type() {
    if constexpr (invocable) {
      return std::type_identity<std::invoke_result_t<callee, element_ref_t<T>...>>{};
    } else {
      return std::type_identity<void>{};  // `then` stops with a message
    }
  }
  using returned = typename decltype(returned_type())::type;
  using result = typename then_result<returned>::type;

  static constexpr bool returns_void = std::is_void_v<returned>;
  static constexpr bool returns_future = is_future_v<std::remove_cvref_t<returned>>;

  /// Runs the callback on the results of a ready cell (unused when there are no elements).
  static decltype(auto) run(Fn& callback, [[maybe_unused]] cell* source) {
    if constexpr (sizeof...(T) == 0) {
      return detail::call(static_cast<callee>(callback));
    } else {
      return run_with(callback, detail::results_of<T...>(source), std::index_sequence_for<T...>{});
    }
  }

 private:
  template <class Results, std::size_t... Indices>
  static decltype(auto) run_with(Fn& callback, Results const& arguments, std::index_sequence<Indices...>) {
    return detail::call(static_cast<callee>(callback), arguments.template get<Indices>()...);
  }
};

}  // namespace upcxx::inline UPCXX_MODE::detail
