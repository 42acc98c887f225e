#pragma once

/// Boxes of elements inside arrays, with every type already erased. Both ends are addressable here.

#include <cstddef>

#include <atoll/base/config.hpp>

namespace atl::engine {

/// Copies a box of elements: the one with the index i, 0 <= i[d] < extents[d] for all d < dimensions, from
/// source + sum(i[d] * source_strides[d]) to dest + sum(i[d] * dest_strides[d]).
///
/// Strides are bytes of any sign; those of the source may be 0. No two elements are written to the same
/// bytes, and none where another is read. The order of the dimensions does not matter. An extent of 0 makes
/// the box empty; without dimensions it is one element.
ATOLL_EXPORT void copy_strided(std::byte* dest, std::ptrdiff_t const* dest_strides, std::byte const* source,
                               std::ptrdiff_t const* source_strides, std::size_t const* extents,
                               std::size_t dimensions, std::size_t element_bytes);

/// A box that is copied again and again: its normal form, found once.
struct prepared_box {
  struct dimension {
    std::ptrdiff_t dest;    ///< bytes from one element to the next
    std::ptrdiff_t source;  ///< the same
    std::size_t extent;
  };
  static constexpr std::size_t most_dimensions = 4;

  std::byte* dest;
  std::byte const* source;
  std::size_t run;                        ///< contiguous bytes at each index
  dimension dimensions[most_dimensions];  ///< innermost first; those that are not needed have extent 1
  void (*copy)(prepared_box const& box, std::byte* dest, std::byte const* source);
};

/// Prepares the box that copy_strided with the same arguments would copy, of at most
/// prepared_box::most_dimensions dimensions. False if it is empty.
ATOLL_EXPORT bool prepare_box(prepared_box& box, std::byte* dest, std::ptrdiff_t const* dest_strides,
                              std::byte const* source, std::ptrdiff_t const* source_strides,
                              std::size_t const* extents, std::size_t dimensions, std::size_t element_bytes);

/// Copies prepared boxes, whose ends have moved by so many bytes.
inline void copy_prepared(prepared_box const* boxes, std::size_t count, std::ptrdiff_t dest_moved = 0,
                          std::ptrdiff_t source_moved = 0) {
  for (prepared_box const* b = boxes; b != boxes + count; ++b) {
    b->copy(*b, b->dest + dest_moved, b->source + source_moved);
  }
}

}  // namespace atl::engine
