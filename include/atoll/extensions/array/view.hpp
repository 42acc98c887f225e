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
#include <atoll/extensions/detail/heap_array.hpp>
#include <atoll/strided.hpp>
#include <upcxx/completion.hpp>
#include <upcxx/detail/config.hpp>
#include <upcxx/detail/nodiscard.hpp>
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

/// An N-dimensional array in the host shared memory of one rank: where its elements are, and what its indices
/// are. A view: it owns nothing, is trivially copyable, can be sent, and means the same in every process.
///
/// Its domain says which points it has, ghosts included; element p is `data + sum((p[d] - lower[d]) *
/// stride[d])`. T may be const. For mdspan's users: data_handle(), extent(), stride() and rank() are as
/// there, with indices that begin at 0.
template <class T, int N>
class array {
 public:
  using element_type = T;
  using value_type = std::remove_cv_t<T>;

  /// No elements.
  constexpr array() = default;
  /// @param data     the element at `where.lower`.
  /// @param strides  elements, of any sign, from one index to the next, for each dimension.
  constexpr array(upcxx::global_ptr<T> data, atl::domain<N> const& where, point<N> const& strides)
      : data_(data), domain_(where), strides_(strides) {}
  /// An array without gaps.
  constexpr array(upcxx::global_ptr<T> data, atl::domain<N> const& where,
                  order fastest = order::first_fastest)
      : array(data, where, packed_strides(where, fastest)) {}
  /// From an array of mutable elements.
  template <class U>
  requires(std::is_same_v<T, U const> && !std::is_const_v<U>) constexpr array(array<U, N> const& other)
      : array(other.data(), other.domain(), other.strides()) {}

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
  [[nodiscard]] constexpr upcxx::global_ptr<T> data() const { return data_; }
  /// World rank of the owner.
  [[nodiscard]] constexpr upcxx::intrank_t where() const { return data_.where(); }
  /// True if this process can load and store its elements.
  [[nodiscard]] bool is_local() const { return data_.is_local(); }

  /// Address of the element at lower(). Requires is_local(). Element p is at
  /// `data_handle()[offset(p)]`; loops keep this pointer and the strides in variables.
  [[nodiscard]] T* data_handle() const { return data_.local(); }
  /// Elements from the one at lower() to the one at `p`, which need not be a point of the domain.
  [[nodiscard]] constexpr std::ptrdiff_t offset(point<N> const& p) const {
    std::ptrdiff_t elements = 0;
    for (int d = 0; d < N; ++d) elements += (p[d] - domain_.lower[d]) * strides_[d];
    return elements;
  }
  /// Global pointer to an element.
  [[nodiscard]] upcxx::global_ptr<T> pointer(point<N> const& p) const { return data_ + checked_offset(p); }
  /// An element. Requires is_local().
  [[nodiscard]] T& operator[](point<N> const& p) const { return data_handle()[checked_offset(p)]; }
  [[nodiscard]] T& at(point<N> const& p) const { return (*this)[p]; }
  /// The same by one index for each dimension: `a(i, j, k)`.
  template <std::convertible_to<std::ptrdiff_t>... I>
  requires(sizeof...(I) == N) [[nodiscard]] T& operator()(I... indices) const {
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
  [[nodiscard]] array<T, N - 1> slice(int dimension, std::ptrdiff_t index) const requires(N > 1) {
    atl::domain<N - 1> const part = domain_.slice(dimension, index);
    if (part.empty()) return array<T, N - 1>({}, {}, strides_.without(dimension));
    return array<T, N - 1>(data_ + (index - domain_.lower[dimension]) * strides_[dimension], part,
                           strides_.without(dimension));
  }
  /// The same indices over memory `elements` farther: another field of the same shape.
  [[nodiscard]] array moved(std::ptrdiff_t elements) const {
    return array(data_ + elements, domain_, strides_);
  }

#if defined(__cpp_lib_mdspan)
  /// Indices of the mdspan begin at 0, at lower(). Requires is_local() and strides that are not negative.
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

  upcxx::global_ptr<T> data_;
  atl::domain<N> domain_{};
  point<N> strides_{};
};

/// Memory for an array in the own shared heap, freed with the object. Moves; views of it stay valid then.
template <class T, int N>
class owned_array {
 public:
  owned_array() = default;
  /// Elements are default-initialised like those of new_array: numbers have no value yet.
  /// @throws upcxx::bad_shared_alloc
  explicit owned_array(atl::domain<N> const& where, order fastest = order::first_fastest)
      : memory_(where.size()), view_(memory_.get(), where, fastest) {}
  owned_array(owned_array&& other) noexcept
      : memory_(std::move(other.memory_)), view_(std::exchange(other.view_, {})) {}
  owned_array& operator=(owned_array&& other) noexcept {
    std::swap(memory_, other.memory_);
    std::swap(view_, other.view_);
    return *this;
  }
  ~owned_array() = default;

  [[nodiscard]] array<T, N> const& view() const { return view_; }
  operator array<T, N>() const { return view_; }
  [[nodiscard]] atl::domain<N> const& domain() const { return view_.domain(); }
  [[nodiscard]] T* data_handle() const { return view_.data_handle(); }
  [[nodiscard]] T& operator[](point<N> const& p) const { return view_[p]; }
  [[nodiscard]] T& at(point<N> const& p) const { return view_[p]; }
  template <std::convertible_to<std::ptrdiff_t>... I>
  requires(sizeof...(I) == N) [[nodiscard]] T& operator()(I... indices) const { return view_(indices...); }

 private:
  detail::heap_array<T> memory_;
  array<T, N> view_;
};

/// Allocates an array in the own shared heap.
template <class T, int N>
[[nodiscard]] owned_array<T, N> make_array(atl::domain<N> const& where,
                                           order fastest = order::first_fastest) {
  return owned_array<T, N>(where, fastest);
}

namespace detail {
template <class T, int N>
constexpr array<T, N> const& view_of(array<T, N> const& a) {
  return a;
}
template <class T, int N>
constexpr array<T, N> const& view_of(owned_array<T, N> const& a) {
  return a.view();
}

template <class A>
concept array_like = requires(A const& a) {
  detail::view_of(a);
};

template <class T, class U, int N, int M, class Cx>
auto copy_common(array<T, N> const& from, array<U, M> const& to, Cx&& completions) {
  static_assert(N == M, "atl::copy: both arrays must have the same number of dimensions; take a slice");
  static_assert(!std::is_const_v<U>, "atl::copy: the destination's elements must not be const");
  static_assert(std::is_same_v<std::remove_const_t<T>, U>,
                "atl::copy: both arrays must have the same type of element");
  atl::domain<N> const common = from.domain() & to.domain();
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
  return copy_runs<U>(to.data() + to.offset(common.lower), to_strides,
                      upcxx::global_ptr<U const>(from.data() + from.offset(common.lower)), from_strides,
                      extents, N, sizeof(U), std::forward<Cx>(completions));
}
}  // namespace detail

/// Copies the elements of `from` to those of `to` that have the same index, where both have one: whoever owns
/// them, however they are laid out, whatever ghosts they have. Nothing in common is no error.
///
/// @param completions  source, remote (on the master persona of the destination's owner) and operation
///                     completion, also if nothing was copied.
/// @return    by the completions asked for: a future by default.
/// @progress  internal. Copies between ranks of one host are complete when the call returns.
///
/// The memory of the two parts does not overlap. Errors as of copy_strided.
template <detail::array_like From, detail::array_like To,
          class Cx = decltype(upcxx::operation_cx::as_future())>
ATOLL_NODISCARD_FUTURE auto copy(From const& from, To const& to,
                                 Cx&& completions = upcxx::operation_cx::as_future()) {
  return detail::copy_common(detail::view_of(from), detail::view_of(to), std::forward<Cx>(completions));
}

}  // namespace atl::inline UPCXX_MODE
