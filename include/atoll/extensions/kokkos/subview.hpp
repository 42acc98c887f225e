#pragma once
// header check: needs <Kokkos_Core.hpp>

/// Parts of Views of other ranks.

#include <Kokkos_Core.hpp>

#include <array>
#include <cstddef>
#include <type_traits>
#include <utility>

#include <atoll/base/check.hpp>
#include <atoll/extensions/kokkos/views.hpp>
#include <upcxx/detail/config.hpp>
#include <upcxx/global_ptr.hpp>

namespace atl::kokkos::inline UPCXX_MODE {

namespace detail {

template <class Which>
inline constexpr bool is_all = std::is_same_v<Which, std::remove_cvref_t<decltype(Kokkos::ALL)>>;
template <class Which>
concept index_range = requires(Which which) {
  static_cast<std::size_t>(which.first);
  static_cast<std::size_t>(which.second);
};
/// Does it keep the dimension?
template <class Which>
inline constexpr bool keeps = is_all<Which> || index_range<Which>;

}  // namespace detail

/// Part of a described View, as Kokkos::subview() is of a View: what copy(), kernel_view() and remote_view take,
/// for Views of any rank of the job. For each dimension one of
///   an index, which drops the dimension;
///   Kokkos::ALL, or ALL();
///   a pair of indices (std::pair, Kokkos::pair): from the first on, up to the second, which is not in it.
///
/// @progress none.
template <class T, std::size_t Rank, memory_kind Kind, class... Which>
[[nodiscard]] auto subview(global_view<T, Rank, Kind> const& view, Which const&... which) {
  static_assert(sizeof...(Which) == Rank,
                "atl::kokkos::subview: give an index, a pair of indices or Kokkos::ALL for each dimension");
  static_assert((... && (detail::keeps<Which> || std::is_convertible_v<Which, std::size_t>)),
                "atl::kokkos::subview: give an index, a pair of indices or Kokkos::ALL for each dimension");
  global_view<T, (std::size_t{0} + ... + (detail::keeps<Which> ? 1 : 0)), Kind> part{view.data};
  std::size_t first = 0;
  std::size_t from = 0;  // dimension of the View
  std::size_t to = 0;    // of the part
  auto const take = [&]<class One>(One const& one) {
    std::size_t begin = 0;
    std::size_t end = view.extents[from];
    if constexpr (detail::index_range<One>) {
      begin = static_cast<std::size_t>(one.first);
      end = static_cast<std::size_t>(one.second);
    } else if constexpr (!detail::is_all<One>) {
      begin = static_cast<std::size_t>(one);
      end = begin + 1;
    }
    ATOLL_CHECK(begin <= end && end <= view.extents[from],
                "atl::kokkos::subview: indices %zu to %zu (not in it) of dimension %zu, which has %zu", begin,
                end, from, view.extents[from]);
    first += begin * view.strides[from];
    if constexpr (detail::keeps<One>) {
      part.extents[to] = end - begin;
      part.strides[to] = view.strides[from];
      ++to;
    }
    ++from;
  };
  (take(which), ...);
  // Memory that nobody owns cannot be moved in.
  if (part.data) part.data += static_cast<std::ptrdiff_t>(first);
  return part;
}

}  // namespace atl::kokkos::inline UPCXX_MODE
