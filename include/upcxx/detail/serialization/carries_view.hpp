#pragma once

/// Does what arrives look into the message that brought it? Messages of arguments live as long as the callback
/// needs them; results, local round trips and values of collectives have none that would stay.

#include <array>
#include <cstddef>
#include <type_traits>

#include <upcxx/detail/serialization/codec.hpp>
#include <upcxx/detail/serialization/traits.hpp>

namespace upcxx::inline UPCXX_MODE::detail {

template <typename T>
inline constexpr bool is_view_v = false;
template <typename T, typename Iter>
inline constexpr bool is_view_v<view<T, Iter>> = true;

template <typename T>
constexpr bool carries_view();

/// A view among the parts of a type of the standard that the library carries itself. What arrives where the program
/// says how is the program's affair, be the type a template or not.
template <typename T>
inline constexpr bool has_view_among_parts = false;
template <template <typename...> class C, typename... Parts>
requires(sizeof...(Parts) != 0) inline constexpr bool has_view_among_parts<C<Parts...>> =
    (carries_view<Parts>() || ...) && std::is_base_of_v<std_codec<C<Parts...>>, codec<C<Parts...>>>;
template <typename T, std::size_t N>
inline constexpr bool has_view_among_parts<std::array<T, N>> =
    carries_view<T>() && std::is_base_of_v<std_codec<std::array<T, N>>, codec<std::array<T, N>>>;

template <typename T>
constexpr bool carries_view() {
  if constexpr (serializable<T>()) {
    return is_view_v<mapped_t<wire_t<T>>> || has_view_among_parts<wire_t<T>>;
  } else {
    return false;
  }
}

}  // namespace upcxx::inline UPCXX_MODE::detail
