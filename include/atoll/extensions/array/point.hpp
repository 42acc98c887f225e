#pragma once

/// Points of N-dimensional index space.

#include <array>
#include <compare>
#include <concepts>
#include <cstddef>

#include <upcxx/detail/config.hpp>

namespace atl::inline UPCXX_MODE {

/// N integers: an index, an offset, or a number of steps in each dimension. An aggregate: `point<3>{i, j,
/// k}`; missing ones are 0. All arithmetic is by dimension; comparison by == is of all, by <=> lexicographic.
template <int N>
struct point {
  static_assert(N >= 1, "atl::point<N>: N is the number of dimensions, at least 1");
  using value_type = std::ptrdiff_t;

  std::ptrdiff_t coordinates[N];

  [[nodiscard]] static constexpr int rank() { return N; }
  /// The point whose coordinates are all `value`.
  [[nodiscard]] static constexpr point all(std::ptrdiff_t value) {
    point result{};
    for (std::ptrdiff_t& c : result.coordinates) c = value;
    return result;
  }
  /// The point that is 1 (or `length`) in one dimension and 0 in the others.
  [[nodiscard]] static constexpr point unit(int dimension, std::ptrdiff_t length = 1) {
    point result{};
    result[dimension] = length;
    return result;
  }

  [[nodiscard]] constexpr std::ptrdiff_t& operator[](int dimension) { return coordinates[dimension]; }
  [[nodiscard]] constexpr std::ptrdiff_t const& operator[](int dimension) const {
    return coordinates[dimension];
  }

  constexpr point& operator+=(point const& other) {
    for (int d = 0; d < N; ++d) coordinates[d] += other[d];
    return *this;
  }
  constexpr point& operator-=(point const& other) {
    for (int d = 0; d < N; ++d) coordinates[d] -= other[d];
    return *this;
  }
  constexpr point& operator*=(std::ptrdiff_t factor) {
    for (std::ptrdiff_t& c : coordinates) c *= factor;
    return *this;
  }
  [[nodiscard]] friend constexpr point operator+(point a, point const& b) { return a += b; }
  [[nodiscard]] friend constexpr point operator-(point a, point const& b) { return a -= b; }
  [[nodiscard]] friend constexpr point operator-(point a) { return a *= -1; }
  [[nodiscard]] friend constexpr point operator*(point a, std::ptrdiff_t factor) { return a *= factor; }
  [[nodiscard]] friend constexpr point operator*(std::ptrdiff_t factor, point a) { return a *= factor; }
  [[nodiscard]] friend constexpr bool operator==(point const&, point const&) = default;
  [[nodiscard]] friend constexpr std::strong_ordering operator<=>(point const& a, point const& b) {
    for (int d = 0; d < N; ++d) {
      if (auto const order = a[d] <=> b[d]; order != 0) return order;
    }
    return std::strong_ordering::equal;
  }

  /// The smaller and the greater coordinate in each dimension.
  [[nodiscard]] static constexpr point min(point a, point const& b) {
    for (int d = 0; d < N; ++d) a[d] = a[d] < b[d] ? a[d] : b[d];
    return a;
  }
  [[nodiscard]] static constexpr point max(point a, point const& b) {
    for (int d = 0; d < N; ++d) a[d] = a[d] > b[d] ? a[d] : b[d];
    return a;
  }
  /// The coordinates without that of one dimension.
  [[nodiscard]] constexpr point<N - 1> without(int dimension) const requires(N > 1) {
    point<N - 1> result{};
    for (int d = 0, to = 0; d < N; ++d) {
      if (d != dimension) result[to++] = coordinates[d];
    }
    return result;
  }
};

template <std::convertible_to<std::ptrdiff_t>... Index>
point(Index...) -> point<static_cast<int>(sizeof...(Index))>;

namespace detail {
/// Rounded down, also where `a` is negative; `b` is positive.
constexpr std::ptrdiff_t floor_divide(std::ptrdiff_t a, std::ptrdiff_t b) {
  return a / b - (a % b < 0 ? 1 : 0);
}
}  // namespace detail

}  // namespace atl::inline UPCXX_MODE
