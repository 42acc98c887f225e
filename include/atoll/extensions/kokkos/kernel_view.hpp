#pragma once
// header check: needs <Kokkos_Core.hpp>

/// Elements of other ranks' Views inside kernels.

#include <Kokkos_Core.hpp>

#include <array>
#include <cstddef>
#include <type_traits>

#include <atoll/base/config.hpp>
#include <atoll/device.cuh>
#include <atoll/extensions/kokkos/views.hpp>
#include <upcxx/detail/config.hpp>
#include <upcxx/global_ptr.hpp>

namespace atl::kokkos::inline UPCXX_MODE {

namespace detail {

template <class T, std::size_t Rank>
struct with_stars {
  using type = typename with_stars<T*, Rank - 1>::type;
};
template <class T>
struct with_stars<T, 0> {
  using type = T;
};

template <class T, std::size_t Rank, class Space>
using strided_view = Kokkos::View<typename with_stars<T, Rank>::type, Kokkos::LayoutStride, Space,
                                  Kokkos::MemoryTraits<Kokkos::Unmanaged>>;

/// From the first to the last element, in elements.
template <std::size_t Rank>
std::size_t span_of(std::array<std::size_t, Rank> const& extents,
                    std::array<std::size_t, Rank> const& strides) {
  std::size_t span = 1;
  for (std::size_t r = 0; r < Rank; ++r) {
    if (extents[r] == 0) return 0;
    span += (extents[r] - 1) * strides[r];
  }
  return span;
}

/// Where the team's device finds the first element; null if it does not reach all.
template <class T, std::size_t Rank, memory_kind Kind>
T* reached(device_team const& team, global_view<T, Rank, Kind> const& where) {
  return team.local(where.data, detail::span_of(where.extents, where.strides));
}

template <class Space, class T, std::size_t Rank, memory_kind Kind>
auto view_at(T* first, global_view<T, Rank, Kind> const& where) {
  Kokkos::LayoutStride layout;
  for (std::size_t r = 0; r < Rank; ++r) {
    layout.dimension[r] = where.extents[r];
    layout.stride[r] = where.strides[r];
  }
  return strided_view<T, Rank, Space>(first, layout);
}

}  // namespace detail

/// A View, for kernels on the device of `team`, over a View of any of its ranks that the device reaches: devices of
/// the same host that are linked to it, and the shared heaps of the host. Kernels load and store its elements over
/// that link. data() is null where the device does not reach it: see remote_view.
///
/// Kernels order nothing between ranks. What they have written is there for others when the host has waited for them
/// (fence) and says so, or by signals of the team. No Kokkos::RandomAccess for what others write meanwhile.
///
/// @param where  as long as its memory is there.
/// @progress     none.
template <class T, std::size_t Rank, memory_kind Kind>
[[nodiscard]] auto kernel_view(device_team const& team, global_view<T, Rank, Kind> const& where) {
  // Devices reach shared heaps, too, and kernels cannot tell.
  constexpr memory_kind kernels = Kind == memory_kind::host ? memory_kind::cuda_device : Kind;
  static_assert(detail::check_space<kernels, void>());
  using space = typename kokkos_space<kernels>::type;
  return detail::view_at<space>(detail::reached(team, where), where);
}
/// The same for kernels on this host, over a View in a shared heap of it; data() is null where it is in another
/// host's.
template <class T, std::size_t Rank>
[[nodiscard]] auto kernel_view(global_view<T, Rank, memory_kind::host> const& where) {
  return detail::view_at<Kokkos::HostSpace>(where.data.is_local() ? where.data.local() : nullptr, where);
}

/// Elements, of at most 8 bytes, of a View of any rank of the job, for kernels on the device of a team. A handle: kernels
/// get it by value. Where the device reaches the View they are loads and stores; else the host is asked for each one,
/// and must make progress meanwhile (atl::wait(stream) instead of a fence): whole rows are better copied.
template <class T, std::size_t Rank, memory_kind Kind = memory_kind::host>
class remote_view {
  using value_type = std::remove_const_t<T>;

 public:
  /// @param where  as long as its memory is there.
  remote_view(device_team const& team, global_view<T, Rank, Kind> const& where)
      : team_(team), data_(where.data), here_(detail::reached(team, where)) {
    for (std::size_t r = 0; r < Rank; ++r) {
      extents_[r] = where.extents[r];
      strides_[r] = where.strides[r];
    }
  }

  [[nodiscard]] ATOLL_ANYWHERE std::size_t extent(std::size_t dimension) const { return extents_[dimension]; }
  /// Does the device reach it?
  [[nodiscard]] ATOLL_ANYWHERE bool is_reached() const { return here_ != nullptr; }

  /// An element, by this thread.
  template <class... Index>
  [[nodiscard]] ATOLL_ANYWHERE value_type get(Index... index) const {
    std::ptrdiff_t const at = place_of(index...);
    return here_ != nullptr ? here_[at] : team_.get(data_ + at);
  }
  /// Stores an element, by this thread. Order: as device_team::put().
  template <class... Index>
  ATOLL_ANYWHERE void put(value_type const& value, Index... index) const {
    std::ptrdiff_t const at = place_of(index...);
    if (here_ != nullptr) {
      here_[at] = value;
    } else {
      team_.put(value, data_ + at);
    }
  }

 private:
  template <class... Index>
  ATOLL_ANYWHERE std::ptrdiff_t place_of(Index... index) const {
    static_assert(sizeof...(Index) == Rank, "remote_view: give an index for each dimension");
    std::size_t at = 0;
    std::size_t dimension = 0;
    ((at += static_cast<std::size_t>(index) * strides_[dimension++]), ...);
    return static_cast<std::ptrdiff_t>(at);
  }

  device_team team_;
  upcxx::global_ptr<T, Kind> data_;
  T* here_;
  std::size_t extents_[Rank == 0 ? 1 : Rank] = {};
  std::size_t strides_[Rank == 0 ? 1 : Rank] = {};
};

}  // namespace atl::kokkos::inline UPCXX_MODE
