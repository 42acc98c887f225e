#pragma once
// header check: needs <Kokkos_Core.hpp>

/// Kokkos Views over the memory of global pointers, and copies from and to Views. Needs Kokkos 3.4 or newer;
/// not part of upcxx.hpp.
///
/// Views made here are unmanaged: whoever allocated the memory keeps it until the last kernel and the last
/// copy are done with it. Kokkos does not know of copies, nor the library of kernels: fence() the instance of
/// the execution space that wrote the data before copying it, and wait for a copy (or its notification)
/// before launching kernels that use the data.
///
/// The namespace is atl::kokkos, since `atoll` is a function of the C library.
///
/// With Kokkos' Serial back end this is tested over shared heaps and simulated devices; its CUDA back end is
/// provided for, but has not been compiled or run on hardware yet.

#include <Kokkos_Core.hpp>

#include <array>
#include <cstddef>
#include <cstdio>
#include <type_traits>
#include <utility>

#include <atoll/detail/box_copy.hpp>
#include <upcxx/allocate.hpp>
#include <upcxx/completion.hpp>
#include <upcxx/copy.hpp>
#include <upcxx/detail/check.hpp>
#include <upcxx/detail/check_range.hpp>
#include <upcxx/detail/config.hpp>
#include <upcxx/device.hpp>
#include <upcxx/device_allocator.hpp>
#include <upcxx/exceptions.hpp>
#include <upcxx/global_ptr.hpp>
#include <upcxx/rpc.hpp>
#include <upcxx/team.hpp>

namespace atl::kokkos::inline UPCXX_MODE {

using upcxx::memory_kind;

/// The memory space of Kokkos for memory of a kind; void where this Kokkos has none. Programs may specialise
/// it for kinds whose type is void: for instance as Kokkos::HostSpace for simulated devices, whose Views can
/// then be made and copied, but not touched.
template <memory_kind Kind>
struct kokkos_space {
  using type = void;
};
template <>
struct kokkos_space<memory_kind::host> {
  using type = Kokkos::HostSpace;
};
#if defined(KOKKOS_ENABLE_CUDA)
template <>
struct kokkos_space<memory_kind::cuda_device> {
  using type = Kokkos::CudaSpace;
};
#endif

/// The kind of memory that kernels of an execution space work on.
template <class ExecutionSpace>
requires Kokkos::is_execution_space<ExecutionSpace>::value inline constexpr memory_kind kind_of =
    memory_kind::host;
#if defined(KOKKOS_ENABLE_CUDA)
template <>
inline constexpr memory_kind kind_of<Kokkos::Cuda> = memory_kind::cuda_device;
#endif

/// Starts Kokkos. With its CUDA back end on the device that the first make_gpu_allocator() of this process
/// chooses, so that the ranks of a host are spread over its devices. Kokkos::finalize() ends it.
///
/// @progress none.
inline void initialize() {
#if defined(KOKKOS_ENABLE_CUDA)
  int const devices = upcxx::cuda_device::device_n();
  int const device = devices > 0 ? upcxx::local_team().rank_me() % devices : 0;
#if KOKKOS_VERSION >= 30700
  Kokkos::initialize(Kokkos::InitializationSettings().set_device_id(device));
#else
  Kokkos::InitArguments arguments;
  arguments.device_id = device;
  Kokkos::initialize(arguments);
#endif
#else
  Kokkos::initialize();
#endif
}

/// Number of the device that Kokkos computes on, for device allocators whose memory its kernels use; where it
/// computes on the host, auto_device_id.
inline int device_id() {
#if defined(KOKKOS_ENABLE_CUDA)
  return Kokkos::Cuda().cuda_device();
#else
  return upcxx::gpu_device::auto_device_id;
#endif
}

namespace detail {

template <memory_kind Kind>
using device_of_kind = std::conditional_t<
    Kind == memory_kind::cuda_device, upcxx::cuda_device,
    std::conditional_t<Kind == memory_kind::hip_device, upcxx::hip_device, upcxx::ze_device>>;

template <class Space>
struct memory_space_of {
  using type = typename Space::memory_space;
};
template <>
struct memory_space_of<void> {
  using type = void;
};

/// Ends compilation, in our words, if a View in `Space` cannot be over memory of this kind. void: the kind's
/// own.
template <memory_kind Kind, class Space>
constexpr bool check_space() {
  using own = typename kokkos_space<Kind>::type;
  using asked = typename memory_space_of<Space>::type;
  static_assert(Kind != memory_kind::any,
                "the View's memory must be of a known kind, not memory_kind::any; use static_kind_cast or "
                "dynamic_kind_cast first");
  static_assert(Kind == memory_kind::any || !std::is_void_v<own>,
                "Kokkos has no back end here for this kind of device; build Kokkos with one, or specialise "
                "atl::kokkos::kokkos_space");
  static_assert(
      std::is_void_v<own> || std::is_void_v<asked> || std::is_same_v<own, asked> || Kind != memory_kind::host,
      "a View over host memory must be in Kokkos::HostSpace; for memory of a device use a pointer "
      "from device_allocator");
  static_assert(
      std::is_void_v<own> || std::is_void_v<asked> || std::is_same_v<own, asked> || Kind == memory_kind::host,
      "a View over device memory must be in the memory space of that device's execution space, "
      "not on the host");
  return true;
}

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

/// An end of a copy: its pointer and, unless it is flat, its shape.
template <class Pointer, class T, std::size_t Rank>
struct shaped_end {
  using element_type = T;
  static constexpr std::size_t rank = Rank;
  static constexpr bool flat = false;
  Pointer data;
  std::array<std::size_t, Rank> extents;
  std::array<std::size_t, Rank> strides;
};
template <class Pointer, class T>
struct flat_end {
  using element_type = T;
  static constexpr std::size_t rank = 0;
  static constexpr bool flat = true;
  Pointer data;
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
  auto const shape = shape_of(data, view);
  return global_view<typename View::value_type, decltype(shape)::rank, Kind>{data, shape.extents,
                                                                             shape.strides};
}

}  // namespace detail

/// Global pointer to the first element of a View over host memory in a shared heap of this host; also of a
/// subview.
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

/// Description of a View that other processes can copy from and to; see global_ptr_of for the memory it may
/// be over.
template <class View>
requires Kokkos::is_view<View>::value auto global_view_of(View const& view) {
  return detail::describe(global_ptr_of(view), view);
}
template <class View, class Device>
requires Kokkos::is_view<View>::value auto global_view_of(View const& view,
                                                          upcxx::device_allocator<Device> const& allocator) {
  return detail::describe(global_ptr_of(view, allocator), view);
}

/// Owns memory for a View in the shared heap of this process, or in the segment of a device allocator, and
/// frees it when it goes: before finalize, while its allocator stays where it is, and after the last kernel
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
    view_ = make_view<DataType, Layout>(memory_, extents...);
  }
  /// In the segment of `allocator`, which must be active and stay. @throws bad_shared_alloc when it is
  /// exhausted.
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
    view_ = make_view<DataType, Layout>(memory_, extents...);
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
      upcxx::deallocate(memory_);
    } else if (allocator_->is_active()) {  // else the segment has gone
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
  }

  allocator_type* allocator_ = nullptr;
  upcxx::global_ptr<element_type, Kind> memory_;
  view_type view_;
};

/// Waits for the kernels of one instance of an execution space, and for no others: with CUDA for one stream.
template <class Space>
requires Kokkos::is_execution_space<Space>::value void fence(Space const& instance) { instance.fence(); }

namespace detail {

template <class View>
requires Kokkos::is_view<View>::value auto end_of(View const& view) {
  static_assert(on_host_space<View>,
                "atl::kokkos::copy: only its device knows the address of a View in device memory; give "
                "global_view_of(view, allocator), or a shared_view");
  return shape_of(view.data(), view);
}
template <class DataType, memory_kind Kind, class Layout>
auto end_of(shared_view<DataType, Kind, Layout> const& owner) {
  return shape_of(owner.global_ptr(), owner.view());
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

/// Strides of memory that takes the elements without gaps, in the order of their addresses in the other end.
template <std::size_t Rank>
std::array<std::size_t, Rank> packed_strides(std::array<std::size_t, Rank> const& extents,
                                             std::array<std::size_t, Rank> const& strides) {
  std::array<std::size_t, Rank> packed{};
  for (std::size_t r = 0; r < Rank; ++r) {
    packed[r] = 1;
    for (std::size_t inner = 0; inner < Rank; ++inner) {
      if (strides[inner] < strides[r] || (strides[inner] == strides[r] && inner > r)) {
        packed[r] *= extents[inner];
      }
    }
  }
  return packed;
}

template <class T, memory_kind Kind>
upcxx::intrank_t notified_rank(upcxx::global_ptr<T, Kind> dest) {
  return dest ? dest.where() : upcxx::rank_me();
}
template <class T>
upcxx::intrank_t notified_rank(T*) {
  return upcxx::rank_me();
}

template <class From, class To, class Cx>
auto copy_ends(From const& src, To const& dest, Cx const& completions) {
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
    from = packed_strides(extents, to);
  } else if constexpr (To::flat) {
    extents = src.extents;
    from = src.strides;
    to = packed_strides(extents, from);
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
  box_dimension box[rank + 1] = {};
  for (std::size_t r = 0; r < rank; ++r) {
    box[r] = {extents[r], static_cast<std::ptrdiff_t>(to[r] * sizeof(T)),
              static_cast<std::ptrdiff_t>(from[r] * sizeof(T))};
  }
  return copy_box<T, rank>(src.data, dest.data, box, notified_rank(dest.data), completions);
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
/// all of it for two contiguous Views of one layout, else each longest run (a row, a plane), so that
/// different layouts go element by element; pack with a kernel first where that is a device. There is one
/// completion for the whole.
///
/// @param src,dest     same type of element and same extents, else the job ends. No overlap.
/// @param completions  source, remote (on the master persona of the destination's owner; here for memory that
///                     has none) and operation completion.
/// @progress           internal. Never runs callbacks.
template <class From, class To, class Cx = decltype(upcxx::operation_cx::as_future())>
requires(!Kokkos::is_execution_space<From>::value) auto copy(
    From const& src, To const& dest, Cx const& completions = upcxx::operation_cx::as_future()) {
  return detail::copy_ends(detail::end_of(src), detail::end_of(dest), completions);
}

/// The same after fence(instance): for data that kernels of this instance write, and for destinations that
/// they still read. Other instances are not waited for.
template <class Space, class From, class To, class Cx = decltype(upcxx::operation_cx::as_future())>
requires Kokkos::is_execution_space<Space>::value auto copy(
    Space const& instance, From const& src, To const& dest,
    Cx const& completions = upcxx::operation_cx::as_future()) {
  atl::kokkos::fence(instance);
  return atl::kokkos::copy(src, dest, completions);
}

}  // namespace atl::kokkos::inline UPCXX_MODE
