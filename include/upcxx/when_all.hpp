#pragma once

/// `when_all`: one future for several futures and values.

#include <cstddef>
#include <tuple>
#include <type_traits>
#include <utility>

#include <upcxx/detail/config.hpp>
#include <upcxx/detail/future/future.hpp>
#include <upcxx/detail/future/when_all_cell.hpp>
#include <upcxx/detail/nodiscard.hpp>

namespace upcxx::inline UPCXX_MODE {

namespace detail {

/// Futures as they are, values decayed: what `when_all` makes of an argument of type A.
template <class A>
using when_all_argument =
    std::conditional_t<is_future_v<std::remove_cvref_t<A>>, std::remove_cvref_t<A>, std::decay_t<A>>;

template <class Sum, class... Argument>
struct concatenation {
  using type = Sum;
};
template <class... S, class... U, class... Rest>
struct concatenation<future<S...>, future<U...>, Rest...> : concatenation<future<S..., U...>, Rest...> {};
template <class... S, class Value, class... Rest>
struct concatenation<future<S...>, Value, Rest...> : concatenation<future<S..., Value>, Rest...> {};

/// Index of the only argument that has results, if it is a future; -1 without one.
template <class... Argument>
constexpr int when_all_carrier() {
  int const with_results = (0 + ... + (std::is_same_v<Argument, future<>> ? 0 : 1));
  int index = 0;
  int carrier = -1;
  ((carrier = is_future_v<Argument> && !std::is_same_v<Argument, future<>> ? index : carrier, ++index), ...);
  return with_results == 1 ? carrier : -1;
}

template <class A>
state_bits when_all_bits(A const& argument) noexcept {
  if constexpr (is_future_v<A>) {
    return handle_access::bits(argument);
  } else {
    return ready_state;
  }
}

template <class A>
bool when_all_ready(A const& argument) noexcept {
  if constexpr (is_future_v<A>) {
    return argument.is_ready();
  } else {
    return true;
  }
}

/// References to what an argument contributes, when it is ready now.
template <class A>
auto when_all_parts(A&& argument) noexcept {
  using plain = std::remove_cvref_t<A>;
  if constexpr (is_future_v<plain>) {
    return when_all_input<plain>::parts_of(detail::as_cell(handle_access::bits(argument)));
  } else {
    return std::tuple<A&&>(std::forward<A>(argument));
  }
}

template <class A>
struct when_all_copyable : std::true_type {};
template <class... U>
struct when_all_copyable<future<U...>>
    : std::bool_constant<((std::is_reference_v<U> || std::is_copy_constructible_v<U>)&&...)> {};

}  // namespace detail

/// A future that is ready when all arguments are, with the results of each future and each plain value, in
/// the order of the arguments.
///
/// Values are captured at the call, decayed; futures are unwrapped by one level; reference elements of
/// futures stay references. Results of futures are copied, except when a single future has all of them. If
/// all is ready now, so is the returned future.
template <class... T>
ATOLL_NODISCARD_FUTURE typename detail::concatenation<future<>, detail::when_all_argument<T>...>::type
when_all(T&&... futures_or_values) noexcept {
  using result_type = typename detail::concatenation<future<>, detail::when_all_argument<T>...>::type;
  constexpr int carrier = detail::when_all_carrier<detail::when_all_argument<T>...>();
  constexpr bool values_only_from_carrier = carrier >= 0 || std::is_same_v<result_type, future<>>;

  std::size_t const unready =
      (std::size_t{0} + ... + (detail::when_all_ready<std::remove_cvref_t<T>>(futures_or_values) ? 0 : 1));

  // One future decides alone when and with what the result becomes ready: it is the result.
  if constexpr (values_only_from_carrier) {
    if constexpr (carrier < 0) {
      if (unready == 0) {
        return detail::make_ready<>();
      }
    }
    result_type const* same = nullptr;
    [[maybe_unused]] int index = 0;
    [[maybe_unused]] auto const consider = [&](auto const& argument) {
      if constexpr (std::is_same_v<decltype(argument), result_type const&>) {
        bool const alone = unready == (argument.is_ready() ? 0 : 1);
        if (alone && (carrier < 0 ? !argument.is_ready() : index == carrier)) {
          same = &argument;
        }
      }
      ++index;
    };
    (consider(futures_or_values), ...);
    if (same != nullptr) {
      return *same;
    }
  } else {
    static_assert(
        (detail::when_all_copyable<detail::when_all_argument<T>>::value && ...),
        "when_all: results of future arguments are copied into the combined future, and one of these "
        "types cannot be copied; use then, or pass a std::shared_ptr");
    if (unready == 0) {
      auto* const c = detail::new_cell<typename detail::value_cell_of<result_type>::type>(0, std::uint8_t{0});
      detail::construct_from_parts(
          c, std::tuple_cat(detail::when_all_parts<T>(std::forward<T>(futures_or_values))...));
      return detail::handle_access::adopt<result_type>(detail::as_bits(c));
    }
  }

  if (((detail::when_all_bits(futures_or_values) == detail::never_state) || ...)) {
    return result_type();
  }
  if constexpr (sizeof...(T) != 0) {
    using cell_type = detail::when_all_cell<carrier, result_type, detail::when_all_argument<T>...>;
    auto* const c = detail::new_cell<cell_type>(std::in_place, std::forward<T>(futures_or_values)...);
    return detail::handle_access::adopt<result_type>(detail::as_bits(c));
  } else {
    __builtin_unreachable();  // without arguments nothing is unready
  }
}

}  // namespace upcxx::inline UPCXX_MODE
