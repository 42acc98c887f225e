#pragma once
// header check: needs <Kokkos_Core.hpp>

/// Views over global memory, and descriptions of Views for other processes.

#include <Kokkos_Core.hpp>

#include <array>
#include <cstddef>
#include <type_traits>

#include <atoll/extensions/kokkos/spaces.hpp>
#include <upcxx/detail/check_range.hpp>
#include <upcxx/detail/config.hpp>
#include <upcxx/device_allocator.hpp>
#include <upcxx/global_ptr.hpp>

namespace atl::kokkos::inline UPCXX_MODE {

namespace detail {

template <class DataType, memory_kind Kind, class Layout>
struct view_of {
  using space = typename kokkos_space<Kind>::type;
  template <class Asked, class Space>
  struct layout_or_default {
    using type = Asked;
  };
  template <class Space>
  struct layout_or_default<void, Space> {
    using type = typename Space::execution_space::array_layout;
  };
  using layout = typename layout_or_default<Layout, space>::type;
  using type = Kokkos::View<DataType, layout, space, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;
};

/// A View of what the program calls extents: numbers, or one layout.
template <class View, class... Extents>
View shape_view(typename View::pointer_type data, Extents const&... extents) {
  if constexpr ((std::is_convertible_v<Extents, std::size_t> && ...)) {
    static_assert(sizeof...(Extents) == static_cast<std::size_t>(View::rank_dynamic) ||
                      sizeof...(Extents) == static_cast<std::size_t>(View::rank),
                  "give as many extents as the View's data type has *, or one layout");
    return View(data, static_cast<std::size_t>(extents)...);
  } else {
    static_assert(sizeof...(Extents) == 1, "give extents as numbers, or one layout");
    return View(data, typename View::array_layout(extents)...);
  }
}

template <class T, memory_kind Kind>
T* own_address(upcxx::global_ptr<T, Kind> memory) {
  if constexpr (Kind == memory_kind::host) {
    return memory.local();
  } else {
    return upcxx::device_allocator<device_of_kind<Kind>>::local(memory);
  }
}

template <class View>
inline constexpr bool on_host_space =
    Kokkos::SpaceAccessibility<Kokkos::HostSpace, typename View::memory_space>::accessible;

}  // namespace detail

/// An unmanaged View over global memory: host memory that this process can address (its own and that of its
/// local_team), or device memory that this process allocated, then for kernels.
///
/// @tparam DataType  as in Kokkos::View; its element type is T.
/// @tparam Layout    void: what the execution space likes best.
/// @tparam Space     void: kokkos_space<Kind>; any other is refused.
/// @param memory     at least as many elements as the View spans; not null unless that is none.
/// @param extents    as many numbers as DataType has `*`, or one layout object.
/// @progress         none.
template <class DataType, class Layout = void, class Space = void, class T, memory_kind Kind,
          class... Extents>
auto make_view(upcxx::global_ptr<T, Kind> memory, Extents const&... extents) {
  if constexpr (detail::check_space<Kind, Space>()) {
    using view_type = typename detail::view_of<DataType, Kind, Layout>::type;
    static_assert(std::is_convertible_v<T*, typename view_type::pointer_type> &&
                      std::is_same_v<std::remove_const_t<T>, typename view_type::non_const_value_type>,
                  "make_view: DataType's elements must be those of the global pointer");
    auto const view = detail::shape_view<view_type>(detail::own_address(memory), extents...);
    if (view.span() != 0) upcxx::detail::check_range(memory, view.span(), "make_view", "memory");
    return view;
  }
}

/// Where a View of some process lies: travels in calls and dist_objects (TriviallySerializable), and is an
/// end of copy(). Valid as long as the memory is.
template <class T, std::size_t Rank, memory_kind Kind = memory_kind::host>
struct global_view {
  using element_type = T;
  upcxx::global_ptr<T, Kind> data;          ///< the element with index 0 in all dimensions
  std::array<std::size_t, Rank> extents{};  ///< elements
  std::array<std::size_t, Rank> strides{};  ///< elements from one index to the next
};

namespace detail {

/// A View as an end of a copy: its pointer and its shape.
template <class Pointer, class T, std::size_t Rank>
struct shaped_end {
  using element_type = T;
  static constexpr std::size_t rank = Rank;
  static constexpr bool flat = false;
  Pointer data;
  std::array<std::size_t, Rank> extents;
  std::array<std::size_t, Rank> strides;
};
template <class Pointer, class View>
auto shape_of(Pointer data, View const& view) {
  constexpr auto rank = static_cast<std::size_t>(View::rank);
  shaped_end<Pointer, typename View::value_type, rank> end{data, {}, {}};
  for (std::size_t r = 0; r < rank; ++r) {
    end.extents[r] = view.extent(r);
    end.strides[r] = view.stride(r);
  }
  return end;
}

template <memory_kind Kind, class View>
auto describe(upcxx::global_ptr<typename View::value_type, Kind> data, View const& view) {
  auto const shape = detail::shape_of(data, view);
  return global_view<typename View::value_type, decltype(shape)::rank, Kind>{data, shape.extents,
                                                                             shape.strides};
}

}  // namespace detail

/// Global pointer to the first element of a View over host memory in a shared heap of this host;
/// also of a subview.
template <class View>
requires Kokkos::is_view<View>::value auto global_ptr_of(View const& view) {
  static_assert(detail::on_host_space<View>,
                "global_ptr_of: a View over device memory is found by its allocator: give it, too");
  auto const first = upcxx::to_global_ptr(view.data());
  if (first) upcxx::detail::check_range(first, view.span(), "global_ptr_of", "view");
  return first;
}

/// Global pointer to the first element of a View (or a subview) over memory of an allocator's segment: memory
/// that it handed out, or that the program gave it, such as a View that Kokkos allocated. Ends the job if any
/// of it lies outside the segment.
template <class View, class Device>
requires Kokkos::is_view<View>::value auto global_ptr_of(View const& view,
                                                         upcxx::device_allocator<Device> const& allocator) {
  detail::check_space<Device::kind, typename View::memory_space>();
  auto const first = allocator.to_global_ptr(view.data());
  if (view.span() > 1) static_cast<void>(allocator.to_global_ptr(view.data() + (view.span() - 1)));
  return first;
}

/// Description of a View that other processes can copy from and to;
/// see global_ptr_of for the memory it may be over.
template <class View>
requires Kokkos::is_view<View>::value auto global_view_of(View const& view) {
  return detail::describe(kokkos::global_ptr_of(view), view);
}
template <class View, class Device>
requires Kokkos::is_view<View>::value auto global_view_of(View const& view,
                                                          upcxx::device_allocator<Device> const& allocator) {
  return detail::describe(kokkos::global_ptr_of(view, allocator), view);
}

}  // namespace atl::kokkos::inline UPCXX_MODE
