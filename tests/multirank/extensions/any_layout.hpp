#pragma once

/// Arrays of all layouts, for tests of copies between them.

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <random>

#include <atoll/extensions/array/view.hpp>

namespace multirank {

template <int N>
int value_at(atl::point<N> const& p, int salt) {
  std::ptrdiff_t v = salt;
  for (int d = 0; d < N; ++d) v = v * 37 + p[d];
  return static_cast<int>(v);
}

/// A box of up to 6 points a side, in memory of one rank from `first` on: dimensions in any order, with gaps,
/// forwards or backwards.
template <int N, upcxx::memory_kind Kind>
atl::array<int, N, Kind> any_layout(upcxx::global_ptr<int, Kind> first, std::minstd_rand& numbers,
                                    atl::point<N> const& around) {
  atl::point<N> lower = around;
  atl::point<N> extents{};
  for (int d = 0; d < N; ++d) {
    lower[d] += static_cast<std::ptrdiff_t>(numbers() % 5);
    extents[d] = static_cast<std::ptrdiff_t>(1 + numbers() % 6);
  }
  int dimensions[N];
  std::iota(dimensions, dimensions + N, 0);
  std::shuffle(dimensions, dimensions + N, numbers);
  atl::point<N> strides{};
  std::ptrdiff_t next = static_cast<std::ptrdiff_t>(1 + numbers() % 2);
  std::ptrdiff_t begin = 0;
  for (int const d : dimensions) {
    strides[d] = next;
    next *= extents[d] + static_cast<std::ptrdiff_t>(numbers() % 2);
    if (numbers() % 4 == 0) {
      begin += strides[d] * (extents[d] - 1);
      strides[d] = -strides[d];
    }
  }
  return atl::array<int, N, Kind>(first + begin, {lower, lower + extents}, strides);
}

}  // namespace multirank
