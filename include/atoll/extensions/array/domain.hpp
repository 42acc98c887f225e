#pragma once

/// Rectangular sets of points, and their algebra.

#include <cstddef>
#include <iterator>

#include <atoll/base/check.hpp>
#include <atoll/extensions/array/point.hpp>
#include <upcxx/detail/config.hpp>

namespace atl::inline UPCXX_MODE {

/// Which index changes fastest: in memory, or when the points of a domain are visited.
enum class order {
  first_fastest,  ///< index 0, as in Fortran; the default (i of i, j, k)
  last_fastest,   ///< index N - 1, as in C
};

/// A rectangular set of points: lower <= p < upper in every dimension. Empty if that leaves no point; all
/// empty domains are equal. An aggregate: `domain<2>{{0, 0}, {4, 4}}`.
///
/// Visiting: `for (point<N> p : d)` has index 0 fastest;
/// `d.in_order(order::last_fastest)` the other way round.
template <int N>
struct domain {
  point<N> lower;  ///< first point
  point<N> upper;  ///< behind the last, in every dimension

  [[nodiscard]] static constexpr int rank() { return N; }
  [[nodiscard]] constexpr bool empty() const {
    for (int d = 0; d < N; ++d) {
      if (lower[d] >= upper[d]) return true;
    }
    return false;
  }
  /// Points in one dimension; 0 if there the domain has none.
  [[nodiscard]] constexpr std::size_t extent(int dimension) const {
    return lower[dimension] < upper[dimension] ? static_cast<std::size_t>(upper[dimension] - lower[dimension])
                                               : 0;
  }
  /// The same for all dimensions.
  [[nodiscard]] constexpr point<N> extents() const {
    point<N> result{};
    for (int d = 0; d < N; ++d) result[d] = static_cast<std::ptrdiff_t>(extent(d));
    return result;
  }
  /// Number of points.
  [[nodiscard]] constexpr std::size_t size() const {
    std::size_t points = 1;
    for (int d = 0; d < N; ++d) points *= extent(d);
    return points;
  }
  [[nodiscard]] constexpr bool contains(point<N> const& p) const {
    for (int d = 0; d < N; ++d) {
      if (p[d] < lower[d] || p[d] >= upper[d]) return false;
    }
    return true;
  }
  /// True if every point of `other` is one of this domain.
  [[nodiscard]] constexpr bool contains(domain const& other) const {
    return other.empty() || (contains(other.lower) && contains(other.upper - point<N>::all(1)));
  }
  [[nodiscard]] friend constexpr bool operator==(domain const& a, domain const& b) {
    return (a.lower == b.lower && a.upper == b.upper) || (a.empty() && b.empty());
  }

  /// Intersection.
  [[nodiscard]] friend constexpr domain operator&(domain const& a, domain const& b) {
    return {point<N>::max(a.lower, b.lower), point<N>::min(a.upper, b.upper)};
  }
  /// Translation.
  [[nodiscard]] friend constexpr domain operator+(domain const& a, point<N> const& by) {
    return {a.lower + by, a.upper + by};
  }
  [[nodiscard]] friend constexpr domain operator-(domain const& a, point<N> const& by) {
    return {a.lower - by, a.upper - by};
  }
  /// The smallest domain with both.
  [[nodiscard]] static constexpr domain hull(domain const& a, domain const& b) {
    if (a.empty()) return b;
    if (b.empty()) return a;
    return {point<N>::min(a.lower, b.lower), point<N>::max(a.upper, b.upper)};
  }

  /// `k` points less, or more, on every side.
  [[nodiscard]] constexpr domain shrink(std::ptrdiff_t k) const { return grow(-k); }
  [[nodiscard]] constexpr domain grow(std::ptrdiff_t k) const { return grow(point<N>::all(k)); }
  /// The same with a number for each dimension.
  [[nodiscard]] constexpr domain shrink(point<N> const& k) const { return grow(-k); }
  [[nodiscard]] constexpr domain grow(point<N> const& k) const { return {lower - k, upper + k}; }

  /// The slab next to this domain, `depth` points thick, at one side of a dimension: below (side < 0) or
  /// above (side > 0). With a negative depth, the slab inside.
  [[nodiscard]] constexpr domain border(int dimension, int side, std::ptrdiff_t depth = 1) const {
    return region(point<N>::unit(dimension, side), depth);
  }
  /// The region next to this domain in a direction, each of whose coordinates is -1, 0 or 1: a face (one is
  /// not 0), an edge (two), a corner (N); `depth` points thick where the direction is not 0, and as wide as
  /// the domain where it is. The ghost region in this direction. With a negative depth, the region inside
  /// that a neighbour in this direction has as its ghosts.
  [[nodiscard]] constexpr domain region(point<N> const& direction, std::ptrdiff_t depth = 1) const {
    domain result = *this;
    for (int d = 0; d < N; ++d) {
      ATOLL_CHECK(direction[d] >= -1 && direction[d] <= 1,
                  "atl::domain::region: coordinate %d of the direction is %td, not -1, 0 or 1", d,
                  direction[d]);
      if (direction[d] == 0) continue;
      std::ptrdiff_t const side = direction[d] < 0 ? lower[d] : upper[d];
      bool const below = (direction[d] < 0) == (depth >= 0);
      result.lower[d] = below ? side - (depth < 0 ? -depth : depth) : side;
      result.upper[d] = below ? side : side + (depth < 0 ? -depth : depth);
    }
    return result;
  }
  /// The points with this index in a dimension, without that dimension. Empty if there are none.
  [[nodiscard]] constexpr domain<N - 1> slice(int dimension, std::ptrdiff_t index) const requires(N > 1) {
    if (index < lower[dimension] || index >= upper[dimension]) return {};
    return {lower.without(dimension), upper.without(dimension)};
  }

  /// Forward iterator over the points.
  class iterator {
   public:
    using value_type = point<N>;
    using difference_type = std::ptrdiff_t;
    using reference = point<N> const&;
    using pointer = point<N> const*;
    using iterator_category = std::forward_iterator_tag;

    constexpr iterator() = default;
    constexpr iterator(domain const& all, bool at_end, order fastest)
        : all_(all), at_(all.lower), fastest_(fastest) {
      if (at_end || all.empty()) finish();
    }
    constexpr reference operator*() const { return at_; }
    constexpr pointer operator->() const { return &at_; }
    constexpr iterator& operator++() {
      for (int i = 0; i < N; ++i) {
        int const d = fastest_ == order::first_fastest ? i : N - 1 - i;
        if (++at_[d] < all_.upper[d]) return *this;
        at_[d] = all_.lower[d];
      }
      finish();
      return *this;
    }
    constexpr iterator operator++(int) {
      iterator const before = *this;
      ++*this;
      return before;
    }
    friend constexpr bool operator==(iterator const& a, iterator const& b) { return a.at_ == b.at_; }

   private:
    constexpr void finish() { at_ = all_.upper; }  // which is no point of the domain

    domain all_{};
    point<N> at_{};
    order fastest_ = order::first_fastest;
  };

  [[nodiscard]] constexpr iterator begin() const { return {*this, false, order::first_fastest}; }
  [[nodiscard]] constexpr iterator end() const { return {*this, true, order::first_fastest}; }

  /// The points as a range in the other order.
  struct ordered {
    domain all;
    order fastest;
    [[nodiscard]] constexpr iterator begin() const { return {all, false, fastest}; }
    [[nodiscard]] constexpr iterator end() const { return {all, true, fastest}; }
  };
  [[nodiscard]] constexpr ordered in_order(order fastest) const { return {*this, fastest}; }
};

template <int N>
domain(point<N>, point<N>) -> domain<N>;

}  // namespace atl::inline UPCXX_MODE
