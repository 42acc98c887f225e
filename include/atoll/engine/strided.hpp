#pragma once

/// Boxes of elements inside arrays, with every type already erased. Both ends are addressable here.

#include <cstddef>

#include <upcxx/detail/config.hpp>

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

}  // namespace atl::engine
