#pragma once
// header check: needs <Kokkos_Core.hpp>

/// Copies from and to Views.

#include <Kokkos_Core.hpp>

#include <array>
#include <cstddef>
#include <cstdio>
#include <type_traits>
#include <utility>

#include <atoll/base/check.hpp>
#include <atoll/extensions/detail/box_copy.hpp>
#include <atoll/extensions/detail/copy_end.hpp>
#include <atoll/extensions/kokkos/shared_view.hpp>
#include <atoll/extensions/kokkos/spaces.hpp>
#include <atoll/extensions/kokkos/views.hpp>
#include <upcxx/completion.hpp>
#include <upcxx/detail/config.hpp>
#include <upcxx/detail/nodiscard.hpp>
#include <upcxx/global_ptr.hpp>
#include <upcxx/rpc.hpp>

namespace atl::kokkos::inline UPCXX_MODE {

namespace detail {

/// An end of a copy without a shape.
template <class Pointer, class T>
struct flat_end {
  using element_type = T;
  static constexpr std::size_t rank = 0;
  static constexpr bool flat = true;
  Pointer data;
};

template <class View>
requires Kokkos::is_view<View>::value auto end_of(View const& view) {
  static_assert(on_host_space<View>,
                "atl::kokkos::copy: only its device knows the address of a View in device memory; give "
                "global_view_of(view, allocator), or a shared_view");
  return detail::shape_of(view.data(), view);
}
template <class DataType, memory_kind Kind, class Layout>
auto end_of(shared_view<DataType, Kind, Layout> const& owner) {
  return detail::shape_of(owner.global_ptr(), owner.view());
}
template <class T, std::size_t Rank, memory_kind Kind>
auto end_of(global_view<T, Rank, Kind> const& view) {
  return shaped_end<upcxx::global_ptr<T, Kind>, T, Rank>{view.data, view.extents, view.strides};
}
template <class T, memory_kind Kind>
auto end_of(upcxx::global_ptr<T, Kind> pointer) {
  return flat_end<upcxx::global_ptr<T, Kind>, T>{pointer};
}
template <class T>
auto end_of(T* pointer) {
  return flat_end<T*, T>{pointer};
}

/// Extents as in "3 x 4".
struct extents_text {
  char characters[200] = "one element";
  extents_text(std::size_t const* extents, std::size_t rank) {
    for (std::size_t r = 0, used = 0; r < rank && used < sizeof characters; ++r) {
      int const more =
          std::snprintf(characters + used, sizeof characters - used, r == 0 ? "%zu" : " x %zu", extents[r]);
      used += static_cast<std::size_t>(more);
    }
  }
};

template <class From, class To, class Cx>
auto copy_ends(From const& src, To const& dest, Cx&& completions) {
  using T = typename To::element_type;
  static_assert(!From::flat || !To::flat, "atl::kokkos::copy: one end must be a View; else use upcxx::copy");
  static_assert(!std::is_const_v<T>, "atl::kokkos::copy: the destination's elements must not be const");
  static_assert(std::is_same_v<std::remove_const_t<typename From::element_type>, T>,
                "atl::kokkos::copy: both ends must have the same type of element");
  static_assert(From::flat || To::flat || From::rank == To::rank,
                "atl::kokkos::copy: both Views must have the same number of dimensions; take a subview");
  constexpr std::size_t rank = From::flat ? To::rank : From::rank;
  std::array<std::size_t, rank> extents{};
  std::array<std::size_t, rank> from{};
  std::array<std::size_t, rank> to{};
  if constexpr (From::flat) {
    extents = dest.extents;
    to = dest.strides;
    from = atl::detail::packed_box_strides(extents, to);
  } else if constexpr (To::flat) {
    extents = src.extents;
    from = src.strides;
    to = atl::detail::packed_box_strides(extents, from);
  } else {
    if (src.extents != dest.extents) {
      atl::check_failed("atl::kokkos::copy: the source is %s, the destination %s: extents must be equal",
                        extents_text(src.extents.data(), rank).characters,
                        extents_text(dest.extents.data(), rank).characters);
    }
    extents = src.extents;
    from = src.strides;
    to = dest.strides;
  }
  atl::detail::box_dimension box[rank + 1] = {};
  for (std::size_t r = 0; r < rank; ++r) {
    box[r] = {extents[r], static_cast<std::ptrdiff_t>(to[r] * sizeof(T)),
              static_cast<std::ptrdiff_t>(from[r] * sizeof(T))};
  }
  return atl::detail::copy_box<T, rank>("atl::kokkos::copy", src.data, dest.data, box,
                                        atl::detail::rank_of_end(dest.data), std::forward<Cx>(completions));
}

}  // namespace detail

/// Copies the elements of a View, or into one, as upcxx::copy does: between any two memories, with all
/// completions, complete at once between host memories and later where a device is concerned.
///
/// Each end is one of
///   a View in host memory of this process, private or shared; a shared_view;
///   a global_view of any process, which also describes Views in device memory;
///   a global pointer, or a raw pointer to host memory (not both ends): takes the elements without gaps, in
///   the order of their addresses in the View.
/// Between two Views element (i, j, ...) goes to (i, j, ...). What is contiguous at both ends is one copy:
/// all of it for two contiguous Views of one layout, else each longest run (a row, a plane). Where just one
/// end is on a device and the layouts differ, the elements are put in the device's order on the host, so that
/// what is contiguous there is one copy. Between two CUDA devices of one host that reach each other and of
/// which one is this rank's several pieces are one kernel of the library; elsewhere different layouts go element by element:
/// pack with a kernel first (deep_copy to a shared_view of the other layout). There is one completion for the
/// whole.
///
/// @param src,dest     same type of element and same extents, else the job ends. No overlap.
/// @param completions  source, remote (on the master persona of the destination's owner; here for memory that
///                     has none) and operation completion.
/// @progress           internal. Never runs callbacks.
template <class From, class To, class Cx = decltype(upcxx::operation_cx::as_future())>
requires(!Kokkos::is_execution_space<From>::value) ATOLL_NODISCARD_FUTURE
    auto copy(From const& src, To const& dest, Cx&& completions = upcxx::operation_cx::as_future()) {
  return detail::copy_ends(detail::end_of(src), detail::end_of(dest), std::forward<Cx>(completions));
}

/// The same after fence(instance): for data that kernels of this instance write, and for destinations that
/// they still read. Other instances are not waited for.
template <class Space, class From, class To, class Cx = decltype(upcxx::operation_cx::as_future())>
requires(Kokkos::is_execution_space<Space>::value) ATOLL_NODISCARD_FUTURE
    auto copy(Space const& instance, From const& src, To const& dest,
              Cx&& completions = upcxx::operation_cx::as_future()) {
  atl::kokkos::fence(instance);
  return atl::kokkos::copy(src, dest, std::forward<Cx>(completions));
}

}  // namespace atl::kokkos::inline UPCXX_MODE
