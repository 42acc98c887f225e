#pragma once
// header check: needs <Kokkos_Core.hpp>

/// Views that own global memory.

#include <Kokkos_Core.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <type_traits>
#include <utility>

#include <atoll/engine/period.hpp>
#include <atoll/extensions/kokkos/views.hpp>
#include <upcxx/allocate.hpp>
#include <upcxx/detail/config.hpp>
#include <upcxx/device_allocator.hpp>
#include <upcxx/exceptions.hpp>
#include <upcxx/global_ptr.hpp>

namespace atl::kokkos::inline UPCXX_MODE {

/// Owns memory for a View in the shared heap of this process, or in the segment of a device allocator, and
/// frees it when it goes, unless that heap has ended before: while its allocator stays where it is, and after the last kernel
/// and copy. The elements are not initialised. Moves, is not copied; its View may be copied.
template <class DataType, memory_kind Kind = memory_kind::host, class Layout = void>
class shared_view {
  static_assert(detail::check_space<Kind, void>());

 public:
  using view_type = typename detail::view_of<DataType, Kind, Layout>::type;
  using element_type = typename view_type::value_type;
  using allocator_type = upcxx::device_allocator<detail::device_of_kind<Kind>>;
  static_assert(!std::is_const_v<element_type> && std::is_trivially_destructible_v<element_type>,
                "shared_view: elements must be trivially destructible and not const");

  /// Holds nothing.
  shared_view() = default;
  /// In the shared heap. @throws bad_shared_alloc when it is exhausted.
  template <class... Extents>
  requires(Kind == memory_kind::host &&
           sizeof...(Extents) != 0) explicit shared_view(Extents const&... extents) {
    std::size_t const count = span(extents...);
    memory_ = upcxx::allocate<element_type>(count, alignment);
    if (!memory_) atl::rt::throw_bad_shared_alloc(count * sizeof(element_type), alignment);
    view_ = kokkos::make_view<DataType, Layout>(memory_, extents...);
  }
  /// In the segment of `allocator`, which must be active and stay.
  /// @throws bad_shared_alloc when it is exhausted.
  template <class... Extents>
  requires(Kind != memory_kind::host) explicit shared_view(allocator_type& allocator,
                                                           Extents const&... extents)
      : allocator_(&allocator) {
    std::size_t const count = span(extents...);
    memory_ = allocator.template allocate<element_type>(count);
    if (!memory_) {
      char text[160];
      std::snprintf(text, sizeof text,
                    "shared_view: no room for %zu elements of %zu bytes in the device segment: %zu of its "
                    "%zu bytes are in use",
                    count, sizeof(element_type), allocator.segment_used(), allocator.segment_size());
      throw upcxx::bad_shared_alloc(text);
    }
    view_ = kokkos::make_view<DataType, Layout>(memory_, extents...);
  }
  shared_view(shared_view&& other) noexcept { swap(other); }
  shared_view& operator=(shared_view&& other) noexcept {
    shared_view taken(std::move(other));
    swap(taken);
    return *this;
  }
  ~shared_view() {
    if (!memory_) return;
    if constexpr (Kind == memory_kind::host) {
      if (heap_ == engine::heaps_ended()) upcxx::deallocate(memory_);  // else it has gone with its heap
    } else if (allocator_->is_active()) {                              // else the segment has gone
      allocator_->deallocate(memory_);
    }
  }

  /// For kernels of this process.
  [[nodiscard]] view_type const& view() const { return view_; }
  /// To the first element; null if this holds nothing.
  [[nodiscard]] upcxx::global_ptr<element_type, Kind> global_ptr() const { return memory_; }
  /// For other processes, and for copy().
  [[nodiscard]] auto global() const { return detail::describe(memory_, view_); }

 private:
  static constexpr std::size_t alignment = alignof(element_type) > 64 ? alignof(element_type) : 64;

  /// Elements of memory that the View needs; one at least, so that it has an address.
  template <class... Extents>
  static std::size_t span(Extents const&... extents) {
    std::size_t const count = detail::shape_view<view_type>(nullptr, extents...).span();
    return count == 0 ? 1 : count;
  }
  void swap(shared_view& other) noexcept {
    std::swap(allocator_, other.allocator_);
    std::swap(memory_, other.memory_);
    std::swap(view_, other.view_);
    std::swap(heap_, other.heap_);
  }

  allocator_type* allocator_ = nullptr;
  upcxx::global_ptr<element_type, Kind> memory_;
  view_type view_;
  std::uint64_t heap_ = engine::heaps_ended();  ///< that it is in
};

}  // namespace atl::kokkos::inline UPCXX_MODE
