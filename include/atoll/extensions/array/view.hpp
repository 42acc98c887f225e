#pragma once

/// Multi-dimensional arrays over global memory, as views: any rank can describe any rank's array.

#include <array>
#include <concepts>
#include <cstddef>
#include <type_traits>
#include <utility>
#include <version>
#if defined(__cpp_lib_mdspan)
#include <mdspan>
#endif

#include <atoll/base/check.hpp>
#include <atoll/extensions/array/domain.hpp>
#include <atoll/extensions/detail/box_copy.hpp>
#include <atoll/extensions/detail/heap_array.hpp>
#include <atoll/extensions/detail/segment_array.hpp>
#include <atoll/strided.hpp>
#include <upcxx/completion.hpp>
#include <upcxx/detail/config.hpp>
#include <upcxx/detail/nodiscard.hpp>
#include <upcxx/device_allocator.hpp>
#include <upcxx/global_ptr.hpp>
#include <upcxx/serialization.hpp>
#include <upcxx/team.hpp>

namespace atl::inline UPCXX_MODE {

/// Strides, in elements, of an array that fills its domain without gaps.
template <int N>
[[nodiscard]] constexpr point<N> packed_strides(atl::domain<N> const& where,
                                                order fastest = order::first_fastest) {
  point<N> strides{};
  std::ptrdiff_t next = 1;
  for (int i = 0; i < N; ++i) {
    int const d = fastest == order::first_fastest ? i : N - 1 - i;
    strides[d] = next;
    next *= static_cast<std::ptrdiff_t>(where.extent(d));
  }
  return strides;
}

/// An N-dimensional array in the shared memory of one rank, on the host or on one of its devices: where its
/// elements are, and what its indices are. A view: it owns nothing, is trivially copyable, can be sent, and
/// means the same in every process.
///
/// Its domain says which points it has, ghosts included; element p is `data + sum((p[d] - lower[d]) *
/// stride[d])`. T may be const. For mdspan's users: data_handle(), extent(), stride() and rank() are as
/// there, with indices that begin at 0.
///
/// Kind is that of the memory. Elements of host memory are there for `a[p]`; those of a device are for
/// kernels of its owner, by data_handle() and strides, and for copy(). An array of kind `any` can be any
/// other: it only knows when asked.
template <class T, int N, upcxx::memory_kind Kind = upcxx::memory_kind::host>
class array {
  using pointer_type = upcxx::global_ptr<T, Kind>;

 public:
  using element_type = T;
  using value_type = std::remove_cv_t<T>;
  static constexpr upcxx::memory_kind kind = Kind;

  /// No elements.
  constexpr array() = default;
  /// @param data     the element at `where.lower`.
  /// @param strides  elements, of any sign, from one index to the next, for each dimension.
  constexpr array(pointer_type data, atl::domain<N> const& where, point<N> const& strides)
      : data_(data), domain_(where), strides_(strides) {}
  /// An array without gaps.
  constexpr array(pointer_type data, atl::domain<N> const& where, order fastest = order::first_fastest)
      : array(data, where, atl::packed_strides(where, fastest)) {}
  /// From an array of mutable elements.
  template <class U>
  requires(std::is_same_v<T, U const> && !std::is_const_v<U>) constexpr array(array<U, N, Kind> const& other)
      : array(other.data(), other.domain(), other.strides()) {}
  /// From one whose kind is known.
  template <class U, upcxx::memory_kind From>
  requires(Kind == upcxx::memory_kind::any && From != upcxx::memory_kind::any &&
           std::is_same_v<std::remove_const_t<T>, std::remove_const_t<U>> &&
           (std::is_const_v<T> || !std::is_const_v<U>)) constexpr array(array<U, N, From> const& other)
      : array(pointer_type(other.data()), other.domain(), other.strides()) {}

  [[nodiscard]] static constexpr int rank() { return N; }
  /// The points that it has.
  [[nodiscard]] constexpr atl::domain<N> const& domain() const { return domain_; }
  [[nodiscard]] constexpr point<N> const& lower() const { return domain_.lower; }
  [[nodiscard]] constexpr point<N> const& upper() const { return domain_.upper; }
  [[nodiscard]] constexpr std::size_t size() const { return domain_.size(); }
  [[nodiscard]] constexpr bool empty() const { return domain_.empty(); }
  [[nodiscard]] constexpr std::size_t extent(int dimension) const { return domain_.extent(dimension); }
  /// Elements from one index to the next.
  [[nodiscard]] constexpr std::ptrdiff_t stride(int dimension) const { return strides_[dimension]; }
  [[nodiscard]] constexpr point<N> const& strides() const { return strides_; }
  /// The element at lower().
  [[nodiscard]] constexpr pointer_type data() const { return data_; }
  /// World rank of the owner.
  [[nodiscard]] constexpr upcxx::intrank_t where() const { return data_.where(); }
  /// True if this process can load and store its elements.
  [[nodiscard]] bool is_local() const { return data_.is_local(); }

  /// Address of the element at lower(). Requires is_local(); of device memory, for kernels, that it is this
  /// rank's. Element p is at `data_handle()[offset(p)]`; loops keep this pointer and the strides in variables.
  [[nodiscard]] T* data_handle() const {
    if constexpr (detail::is_device<Kind>) {
      return upcxx::device_allocator<detail::device_of<Kind>>::local(data_);
    } else {
      return data_.local();
    }
  }
  /// Elements from the one at lower() to the one at `p`, which need not be a point of the domain.
  [[nodiscard]] constexpr std::ptrdiff_t offset(point<N> const& p) const {
    std::ptrdiff_t elements = 0;
    for (int d = 0; d < N; ++d) elements += (p[d] - domain_.lower[d]) * strides_[d];
    return elements;
  }
  /// Global pointer to an element.
  [[nodiscard]] pointer_type pointer(point<N> const& p) const { return data_ + checked_offset(p); }
  /// An element, of host memory. Requires is_local().
  [[nodiscard]] T& operator[](point<N> const& p) const {
    static_assert(Kind == upcxx::memory_kind::host,
                  "atl::array: a[p] is for host memory; elements on devices are there for kernels, by "
                  "data_handle() and offset(p), and for atl::copy");
    return data_handle()[checked_offset(p)];
  }
  [[nodiscard]] T& at(point<N> const& p) const { return (*this)[p]; }
  /// The same by one index for each dimension: `a(i, j, k)`.
  template <std::convertible_to<std::ptrdiff_t>... Index>
  requires(sizeof...(Index) == N) [[nodiscard]] T& operator()(Index... indices) const {
    return (*this)[point<N>{static_cast<std::ptrdiff_t>(indices)...}];
  }

  /// The part of the array that is in `part`, with the same indices.
  [[nodiscard]] array restrict_to(atl::domain<N> const& part) const {
    atl::domain<N> const common = domain_ & part;
    if (common.empty()) return array({}, {}, strides_);
    return array(data_ + offset(common.lower), common, strides_);
  }
  /// The same elements, whose indices are greater by `by`.
  [[nodiscard]] constexpr array translate(point<N> const& by) const {
    return array(data_, domain_ + by, strides_);
  }
  /// The elements with this index in a dimension, as an array without it.
  [[nodiscard]] array<T, N - 1, Kind> slice(int dimension, std::ptrdiff_t index) const requires(N > 1) {
    atl::domain<N - 1> const part = domain_.slice(dimension, index);
    if (part.empty()) return array<T, N - 1, Kind>({}, {}, strides_.without(dimension));
    return array<T, N - 1, Kind>(data_ + (index - domain_.lower[dimension]) * strides_[dimension], part,
                                 strides_.without(dimension));
  }
  /// The same indices over memory `elements` farther: another field of the same shape.
  [[nodiscard]] array moved(std::ptrdiff_t elements) const {
    // Of an array without memory there is no other field either.
    return array(data_ ? data_ + elements : data_, domain_, strides_);
  }

#if defined(__cpp_lib_mdspan)
  /// Indices of the mdspan begin at 0, at lower(). As data_handle(), and strides that are not negative.
  operator std::mdspan<T, std::dextents<std::size_t, N>, std::layout_stride>() const {
    using extents = std::dextents<std::size_t, N>;
    std::array<std::size_t, N> counts{};
    std::array<std::size_t, N> steps{};
    for (int d = 0; d < N; ++d) {
      counts[static_cast<std::size_t>(d)] = extent(d);
      steps[static_cast<std::size_t>(d)] = static_cast<std::size_t>(strides_[d]);
    }
    return {data_handle(), std::layout_stride::mapping<extents>(extents(counts), steps)};
  }
#endif

 private:
  [[nodiscard]] std::ptrdiff_t checked_offset(point<N> const& p) const {
#if ATOLL_CHECKED
    for (int d = 0; d < N; ++d) {
      ATOLL_CHECK(p[d] >= domain_.lower[d] && p[d] < domain_.upper[d],
                  "atl::array: index %td in dimension %d is outside the domain, from %td to below %td", p[d],
                  d, domain_.lower[d], domain_.upper[d]);
    }
#endif
    return offset(p);
  }

  pointer_type data_;
  atl::domain<N> domain_{};
  point<N> strides_{};
};

/// Memory for an array in the own shared heap, or in the segment of a device allocator, freed with the object.
/// Moves; views of it stay valid then.
template <class T, int N, upcxx::memory_kind Kind = upcxx::memory_kind::host>
class owned_array {
  static constexpr bool on_host = Kind == upcxx::memory_kind::host;
  static_assert(on_host || detail::is_device<Kind>, "atl::owned_array: memory must be of one specific kind");

 public:
  owned_array() = default;
  /// Elements are default-initialised like those of new_array: numbers have no value yet.
  /// @throws upcxx::bad_shared_alloc
  explicit owned_array(atl::domain<N> const& where, order fastest = order::first_fastest) requires on_host
      : memory_(where.size()),
        view_(memory_.get(), where, fastest) {}
  /// On a device. Elements have no values yet, whatever they are. The allocator must be active, and its object
  /// stays where it is as long as this one; its destroy() may come first.
  /// @throws upcxx::bad_shared_alloc
  template <class Device>
  requires(Device::kind == Kind)
      owned_array(upcxx::device_allocator<Device>& gpu, atl::domain<N> const& where,
                  order fastest = order::first_fastest)
      : memory_(gpu, where.size(), "atl::make_array"), view_(memory_.get(), where, fastest) {}
  owned_array(owned_array&& other) noexcept
      : memory_(std::move(other.memory_)), view_(std::exchange(other.view_, {})) {}
  owned_array& operator=(owned_array&& other) noexcept {
    std::swap(memory_, other.memory_);
    std::swap(view_, other.view_);
    return *this;
  }
  ~owned_array() = default;

  [[nodiscard]] array<T, N, Kind> const& view() const { return view_; }
  operator array<T, N, Kind>() const { return view_; }
  [[nodiscard]] atl::domain<N> const& domain() const { return view_.domain(); }
  [[nodiscard]] T* data_handle() const { return view_.data_handle(); }
  [[nodiscard]] T& operator[](point<N> const& p) const { return view_[p]; }
  [[nodiscard]] T& at(point<N> const& p) const { return view_[p]; }
  template <std::convertible_to<std::ptrdiff_t>... Index>
  requires(sizeof...(Index) == N) [[nodiscard]] T& operator()(Index... indices) const {
    return view_(indices...);
  }

 private:
  // Only one of the two is named: the other may not exist.
  template <bool OnHost, class>
  struct memory_of {
    using type = detail::heap_array<T>;
  };
  template <class Unused>
  struct memory_of<false, Unused> {
    using type = detail::segment_array<T, Kind>;
  };

  typename memory_of<on_host, void>::type memory_;
  array<T, N, Kind> view_;
};

/// Allocates an array in the own shared heap.
template <class T, int N>
[[nodiscard]] owned_array<T, N> make_array(atl::domain<N> const& where,
                                           order fastest = order::first_fastest) {
  return owned_array<T, N>(where, fastest);
}
/// Allocates an array in the segment of a device allocator: `atl::make_array<double>(gpu, where)`.
template <class T, class Device, int N>
[[nodiscard]] owned_array<T, N, Device::kind> make_array(upcxx::device_allocator<Device>& gpu,
                                                         atl::domain<N> const& where,
                                                         order fastest = order::first_fastest) {
  return owned_array<T, N, Device::kind>(gpu, where, fastest);
}

namespace detail {
template <class T, int N, upcxx::memory_kind Kind>
constexpr array<T, N, Kind> const& view_of(array<T, N, Kind> const& a) {
  return a;
}
template <class T, int N, upcxx::memory_kind Kind>
constexpr array<T, N, Kind> const& view_of(owned_array<T, N, Kind> const& a) {
  return a.view();
}

template <class A>
concept array_like = requires(A const& a) {
  detail::view_of(a);
};

/// Between host memories, at once where both are addressed here.
template <class T, class U, int N, class Cx>
auto copy_on_hosts(array<T, N> const& from, array<U, N> const& to, atl::domain<N> const& common,
                   Cx&& completions) {
  if (common.empty()) {
    upcxx::detail::check_injection("atl::copy");
    upcxx::detail::send_remote_completions(to.data() ? to.where() : upcxx::rank_me(), completions);
    return upcxx::detail::complete_now<upcxx::detail::copy_events>(std::forward<Cx>(completions));
  }
  std::ptrdiff_t to_strides[N];
  std::ptrdiff_t from_strides[N];
  std::size_t extents[N];
  for (int d = 0; d < N; ++d) {
    to_strides[d] = to.stride(d) * static_cast<std::ptrdiff_t>(sizeof(U));
    from_strides[d] = from.stride(d) * static_cast<std::ptrdiff_t>(sizeof(U));
    extents[d] = common.extent(d);
  }
  return detail::copy_runs<U>(to.data() + to.offset(common.lower), to_strides,
                              upcxx::global_ptr<U const>(from.data() + from.offset(common.lower)),
                              from_strides, extents, N, sizeof(U), std::forward<Cx>(completions));
}

/// Between any memories, and in streams.
template <class T, class U, int N, upcxx::memory_kind From, upcxx::memory_kind To, class Cx>
auto copy_anywhere(array<T, N, From> const& from, array<U, N, To> const& to, atl::domain<N> const& common,
                   Cx&& completions) {
  constexpr auto bytes = static_cast<std::ptrdiff_t>(sizeof(U));
  box_dimension box[N + 1] = {};
  point<N> first = common.lower;  // index 0 of the box
  for (int d = 0; d < N; ++d) {
    box[d] = {common.extent(d), to.stride(d) * bytes, from.stride(d) * bytes};
    // The destination is written forwards.
    if (box[d].to < 0 && box[d].extent != 0) {
      first[d] = common.upper[d] - 1;
      box[d].to = -box[d].to;
      box[d].from = -box[d].from;
    }
  }
  // An array without points may have no memory, where no offset leads anywhere.
  bool const nothing = common.empty();
  return detail::copy_box<U, static_cast<std::size_t>(N)>(
      "atl::copy", upcxx::global_ptr<U const, From>(from.data() + (nothing ? 0 : from.offset(first))),
      to.data() + (nothing ? 0 : to.offset(first)), box, to.data() ? to.where() : upcxx::rank_me(),
      std::forward<Cx>(completions));
}

template <class T, class U, int N, int M, upcxx::memory_kind From, upcxx::memory_kind To, class Cx>
auto copy_common(array<T, N, From> const& from, array<U, M, To> const& to, Cx&& completions) {
  static_assert(N == M, "atl::copy: both arrays must have the same number of dimensions; take a slice");
  static_assert(!std::is_const_v<U>, "atl::copy: the destination's elements must not be const");
  static_assert(std::is_same_v<std::remove_const_t<T>, U>,
                "atl::copy: both arrays must have the same type of element");
  constexpr bool on_hosts = From == upcxx::memory_kind::host && To == upcxx::memory_kind::host;
  atl::domain<N> const common = from.domain() & to.domain();
  if constexpr (on_hosts && !upcxx::detail::goes_into_stream<std::remove_cvref_t<Cx>>) {
    return detail::copy_on_hosts(from, to, common, std::forward<Cx>(completions));
  } else {
    return detail::copy_anywhere(from, to, common, std::forward<Cx>(completions));
  }
}
}  // namespace detail

/// Copies the elements of `from` to those of `to` that have the same index, where both have one: whoever owns
/// them, in whatever memory, however they are laid out, whatever ghosts they have. Nothing in common is no
/// error.
///
/// @param completions  source, remote (on the master persona of the destination's owner) and operation
///                     completion, also if nothing was copied. With on_stream() (atoll/stream.hpp) the copy
///                     happens in the order of a stream, which may also give signals.
/// @return    by the completions asked for: a future by default.
/// @progress  internal. Copies between host memories of one host are complete when the call returns; where a
///            device or another host is concerned, progress completes them later.
///
/// The memory of the two parts does not overlap. Errors as of copy_strided. Kernels that write the source, or
/// use the destination, have ended, unless the copy is in the order of their stream.
///
/// Where a device is concerned, what is contiguous at both ends is one copy of the engine, and all of them are
/// started together, as in a copy_batch: whole planes and rows are fast, single elements cost about half a
/// microsecond each. Several pieces between CUDA devices of one host that reach each other are one kernel of the
/// library, if an end is this rank's or the copy is in a stream. Where just one end is on a device, only
/// what is not contiguous there counts, if this process addresses the other.
template <detail::array_like From, detail::array_like To,
          class Cx = decltype(upcxx::operation_cx::as_future())>
ATOLL_NODISCARD_FUTURE auto copy(From const& from, To const& to,
                                 Cx&& completions = upcxx::operation_cx::as_future()) {
  return detail::copy_common(detail::view_of(from), detail::view_of(to), std::forward<Cx>(completions));
}

}  // namespace atl::inline UPCXX_MODE
