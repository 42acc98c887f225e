#pragma once

/// Storage for the results of a future: a tuple that constructs its elements in place, also from a call.

#include <cstddef>
#include <type_traits>
#include <utility>

#include <upcxx/detail/config.hpp>

namespace upcxx::inline UPCXX_MODE::detail {

/// Type of element `Index`.
template <std::size_t Index, class First, class... Rest>
struct nth_type : nth_type<Index - 1, Rest...> {};
template <class First, class... Rest>
struct nth_type<0, First, Rest...> {
  using type = First;
};
template <std::size_t Index, class... T>
using nth_t = typename nth_type<Index, T...>::type;

/// How an element is seen by readers: references as they are, values as `U const&`.
template <class U>
using element_ref_t = std::conditional_t<std::is_reference_v<U>, U, std::add_lvalue_reference_t<U const>>;

/// Asks for construction from the value of a call, without a move.
struct from_call_t {};

template <std::size_t Index, class T>
struct result_slot {
  template <class U>
  explicit result_slot(U&& source) : value(static_cast<U&&>(source)) {}
  template <class F>
  result_slot(from_call_t, F&& call) : value(static_cast<F&&>(call)()) {}

  T value;
};

template <class Indices, class... T>
struct result_pack;

template <std::size_t... Indices, class... T>
struct result_pack<std::index_sequence<Indices...>, T...> : result_slot<Indices, T>... {
  template <class... U>
  explicit result_pack(std::in_place_t, U&&... values)
      : result_slot<Indices, T>(static_cast<U&&>(values))... {}
  template <class F>
  result_pack(from_call_t tag, F&& call) : result_slot<Indices, T>(tag, static_cast<F&&>(call))... {}

  /// Element `N` as readers see it.
  template <std::size_t N>
  element_ref_t<nth_t<N, T...>> get() const noexcept {
    using element = nth_t<N, T...>;
    // A member of reference type stays a mutable reference in a const object: only `U&&` needs the cast.
    return static_cast<element_ref_t<element>>(static_cast<result_slot<N, element> const&>(*this).value);
  }

  /// Element `N` itself.
  template <std::size_t N>
  nth_t<N, T...>& slot() noexcept {
    return static_cast<result_slot<N, nth_t<N, T...>>&>(*this).value;
  }
};

template <class... T>
using results = result_pack<std::index_sequence_for<T...>, T...>;

}  // namespace upcxx::inline UPCXX_MODE::detail
