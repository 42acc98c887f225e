#pragma once

/// Boxes of elements as runs of bytes that are contiguous at both ends.

#include <array>
#include <cstddef>

#include <atoll/engine/strided.hpp>
#include <upcxx/detail/config.hpp>

namespace atl::inline UPCXX_MODE::detail {

/// One dimension of a box: its elements, and at each end the bytes from one to the next.
struct box_dimension {
  std::size_t extent;
  std::ptrdiff_t to;  ///< not negative
  std::ptrdiff_t from;
};

inline std::size_t magnitude(std::ptrdiff_t stride) {
  return static_cast<std::size_t>(stride < 0 ? -stride : stride);
}

/// The elements of an end between the lowest and the highest that a box reaches.
struct box_reach {
  std::ptrdiff_t first = 0;  ///< from index 0 in all dimensions
  std::size_t count = 1;

  void add(std::size_t extent, std::ptrdiff_t stride, std::size_t element_bytes) {
    std::size_t const further = (extent - 1) * magnitude(stride) / element_bytes;
    if (stride < 0) first -= static_cast<std::ptrdiff_t>(further);
    count += further;
  }
};

/// A box as runs of bytes that are contiguous at both ends, and the dimensions around them.
template <std::size_t Rank>
struct box_runs {
  std::size_t bytes;                   ///< of one run
  std::size_t outer = 0;               ///< dimensions in use
  box_dimension dimensions[Rank + 1];  ///< the destination's smallest stride first

  std::size_t count() const {
    std::size_t runs = 1;
    for (std::size_t d = 0; d < outer; ++d) runs *= dimensions[d].extent;
    return runs;
  }

  /// Calls f with the offsets of each run, in bytes: destination, source.
  template <class F>
  void for_each(F&& f) const {
    std::size_t index[Rank + 1] = {};
    std::ptrdiff_t to = 0;
    std::ptrdiff_t from = 0;
    for (std::size_t d = 0; d <= outer;) {
      f(to, from);
      for (d = 0; d < outer; ++d) {
        auto const& [extent, to_stride, from_stride] = dimensions[d];
        to += to_stride;
        from += from_stride;
        if (++index[d] < extent) break;
        to -= static_cast<std::ptrdiff_t>(extent) * to_stride;
        from -= static_cast<std::ptrdiff_t>(extent) * from_stride;
        index[d] = 0;
      }
      if (d == outer) return;
    }
  }
};

/// The longest runs there are. No extent is 0; dimensions of one element do not matter.
template <std::size_t Rank>
box_runs<Rank> merge_runs(box_dimension const (&all)[Rank + 1], std::size_t element_bytes) {
  box_runs<Rank> runs{element_bytes, 0, {}};
  std::size_t kept = 0;
  box_dimension sorted[Rank + 1] = {};
  for (std::size_t d = 0; d < Rank; ++d) {
    if (all[d].extent == 1) continue;
    std::size_t at = kept++;
    for (; at > 0 && sorted[at - 1].to > all[d].to; --at) sorted[at] = sorted[at - 1];
    sorted[at] = all[d];
  }
  for (std::size_t d = 0; d < kept; ++d) {
    auto const size = static_cast<std::ptrdiff_t>(runs.bytes);
    if (runs.outer == 0 && sorted[d].to == size && sorted[d].from == size) {
      runs.bytes *= sorted[d].extent;
    } else {
      runs.dimensions[runs.outer++] = sorted[d];
    }
  }
  return runs;
}

/// Strides of memory that takes the elements without gaps, in the order of their addresses in the other end.
template <std::size_t Rank>
std::array<std::size_t, Rank> packed_box_strides(std::array<std::size_t, Rank> const& extents,
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

/// Boxes of so many runs are copied by a kernel of the library, where there is one: to start it costs what two or three copies do.
inline constexpr std::size_t kernel_from = 4;

/// For the engine to copy as a whole; false if it has too few runs for that, or too many dimensions.
template <std::size_t Rank>
bool as_one_box(box_runs<Rank> const& runs, atl::engine::prepared_box& box) {
  if (runs.outer > atl::engine::prepared_box::most_dimensions || runs.count() < kernel_from) return false;
  box = {nullptr, nullptr, runs.bytes, {}, nullptr};
  for (std::size_t d = 0; d < atl::engine::prepared_box::most_dimensions; ++d) {
    box.dimensions[d] = {0, 0, 1};
    if (d < runs.outer)
      box.dimensions[d] = {runs.dimensions[d].to, runs.dimensions[d].from, runs.dimensions[d].extent};
  }
  return true;
}

}  // namespace atl::inline UPCXX_MODE::detail
