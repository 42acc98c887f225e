#pragma once

/// Does what arrives look into the message that brought it? Messages of arguments live as long as the callback
/// needs them; results, local round trips and values of collectives have none that would stay.

#include <array>
#include <cstddef>
#include <type_traits>
#include <utility>

#include <upcxx/detail/serialization/class_codecs.hpp>
#include <upcxx/detail/serialization/codec.hpp>
#include <upcxx/detail/serialization/traits.hpp>
#include <upcxx/detail/type_list.hpp>

namespace upcxx::inline UPCXX_MODE::detail {

template <typename T>
inline constexpr bool is_view_v = false;
template <typename T, typename Iter>
inline constexpr bool is_view_v<view<T, Iter>> = true;

/// `Within` are the classes whose parts are being looked at: classes may have parts of their own type.
template <typename T, typename... Within>
constexpr bool carries_view();

/// A view among the parts of a type of the standard that the library carries itself.
template <typename T, typename... Within>
struct standard_parts : std::false_type {};
template <template <typename...> class C, typename... Parts, typename... Within>
requires(sizeof...(Parts) != 0) struct standard_parts<C<Parts...>, Within...>
    : std::bool_constant<std::is_base_of_v<std_codec<C<Parts...>>, codec<C<Parts...>>> &&
                         (carries_view<Parts, Within...>() || ...)> {
};
template <typename T, std::size_t N, typename... Within>
struct standard_parts<std::array<T, N>, Within...>
    : std::bool_constant<std::is_base_of_v<std_codec<std::array<T, N>>, codec<std::array<T, N>>> &&
                         carries_view<T, Within...>()> {};

/// A view among the members and bases that UPCXX_SERIALIZED_FIELDS lists.
template <typename List, typename... Within>
struct listed_parts;
template <typename... M, typename... Within>
struct listed_parts<type_list<M...>, Within...>
    : std::bool_constant<(
          carries_view<typename value_wire<std::remove_all_extents_t<M>>::type, Within...>() || ...)> {};

/// What constructors make of listed values, and functions of the program of what they read, is the program's affair.
template <typename T, typename... Within>
constexpr bool carries_view() {
  using wire = wire_t<T>;
  if constexpr ((std::is_same_v<wire, Within> || ...) || !serializable<T>()) {
    return false;
  } else if constexpr (is_view_v<mapped_t<wire>>) {
    return true;
  } else if constexpr (std::is_base_of_v<fields_codec<wire>, codec<wire>>) {
    return listed_parts<decltype(access::parts(std::declval<wire&>())(list_fields())), Within...,
                        wire>::value;
  } else {
    return standard_parts<wire, Within...>::value;
  }
}

}  // namespace upcxx::inline UPCXX_MODE::detail
