// Boxes of elements between arrays of any layout.
//
// The box is brought into a normal form first, which depends neither on the order of the dimensions nor on
// how the program cut them: no dimension of extent 1; the destination's strides positive (both ends are
// reflected where it was not); dimensions in the order of the destination's strides, so that writes go
// forward. Then dimensions that continue each other on both ends are merged: with the element, which becomes
// a longer run of bytes, and with one another. A face of a block is left with one or two dimensions.
//
// The two innermost dimensions are copied by a loop made for the length of the run, the others are counted.

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include <atoll/engine/strided.hpp>

namespace atl::engine {
namespace {

using dimension = prepared_box::dimension;

/// Boxes with more dimensions are cut along their first ones.
constexpr std::size_t most_dimensions = 16;

struct box {
  std::byte* dest;
  std::byte const* source;
  std::size_t run;  ///< contiguous bytes at each index
  std::size_t count = 0;
  std::array<dimension, most_dimensions> dimensions;  ///< innermost first
};

using plane_function = void (*)(std::byte* dest, std::byte const* source, dimension const& inner,
                                dimension const& outer, std::size_t run);

/// Rows of equal runs. With Bytes != 0 the length of a run is known, and a copy of it is a few instructions.
template <std::size_t Bytes>
void copy_plane(std::byte* dest, std::byte const* source, dimension const& inner, dimension const& outer,
                std::size_t run) {
  dimension const in = inner;  // copies, which the stores below cannot change
  dimension const out = outer;
  for (std::size_t j = 0; j < out.extent; ++j) {
    std::byte* d = dest;
    std::byte const* s = source;
    for (std::size_t i = 0; i < in.extent; ++i) {
      std::memcpy(d, s, Bytes != 0 ? Bytes : run);
      d += in.dest;
      s += in.source;
    }
    dest += out.dest;
    source += out.source;
  }
}

/// A box whose planes are copied so.
template <std::size_t Bytes>
void copy_planes(prepared_box const& b, std::byte* dest, std::byte const* source) {
  auto const& [inner, outer, third, fourth] = b.dimensions;
  for (std::size_t l = 0; l < fourth.extent; ++l) {
    std::byte* d = dest;
    std::byte const* s = source;
    for (std::size_t k = 0; k < third.extent; ++k) {
      copy_plane<Bytes>(d, s, inner, outer, b.run);
      d += third.dest;
      s += third.source;
    }
    dest += fourth.dest;
    source += fourth.source;
  }
}

struct copy_functions {
  plane_function plane;
  decltype(prepared_box::copy) box;
};

template <std::size_t Bytes>
constexpr copy_functions functions_of{copy_plane<Bytes>, copy_planes<Bytes>};

copy_functions functions_for(std::size_t run) {
  switch (run) {
    case 1:
      return functions_of<1>;
    case 2:
      return functions_of<2>;
    case 4:
      return functions_of<4>;
    case 8:
      return functions_of<8>;
    case 12:
      return functions_of<12>;
    case 16:
      return functions_of<16>;
    case 24:
      return functions_of<24>;
    case 32:
      return functions_of<32>;
    default:
      return functions_of<0>;
  }
}

/// Drops dimensions of extent 1, reflects and sorts the others. False if the box is empty.
bool normalise(box& b, std::ptrdiff_t const* dest_strides, std::ptrdiff_t const* source_strides,
               std::size_t const* extents, std::size_t dimensions) {
  for (std::size_t i = 0; i < dimensions; ++i) {
    dimension d{dest_strides[i], source_strides[i], extents[i]};
    if (d.extent == 0) return false;
    if (d.extent == 1) continue;
    if (d.dest < 0) {
      auto const last = static_cast<std::ptrdiff_t>(d.extent - 1);
      b.dest += last * d.dest;
      b.source += last * d.source;
      d.dest = -d.dest;
      d.source = -d.source;
    }
    std::size_t at = b.count++;
    for (; at > 0 && b.dimensions[at - 1].dest > d.dest; --at) b.dimensions[at] = b.dimensions[at - 1];
    b.dimensions[at] = d;
  }
  return true;
}

/// True if `outer` goes on where `inner` ends, on both ends.
bool continues(dimension const& outer, dimension const& inner) {
  auto const extent = static_cast<std::ptrdiff_t>(inner.extent);
  return outer.dest == inner.dest * extent && outer.source == inner.source * extent;
}

void merge(box& b) {
  std::size_t kept = 0;
  for (std::size_t i = 0; i < b.count; ++i) {
    dimension const& d = b.dimensions[i];
    if (kept == 0 && d.dest == static_cast<std::ptrdiff_t>(b.run) && d.source == d.dest) {
      b.run *= d.extent;
    } else if (kept != 0 && continues(d, b.dimensions[kept - 1])) {
      b.dimensions[kept - 1].extent *= d.extent;
    } else {
      b.dimensions[kept++] = d;
    }
  }
  b.count = kept;
}

void copy_box(box& b) {
  // Two dimensions at least, for the function that copies them.
  while (b.count < 2) b.dimensions[b.count++] = {0, 0, 1};
  plane_function const copy = functions_for(b.run).plane;
  std::array<std::size_t, most_dimensions> index{};
  for (;;) {
    copy(b.dest, b.source, b.dimensions[0], b.dimensions[1], b.run);
    std::size_t d = 2;
    for (; d < b.count; ++d) {
      dimension const& counted = b.dimensions[d];
      b.dest += counted.dest;
      b.source += counted.source;
      if (++index[d] < counted.extent) break;
      auto const extent = static_cast<std::ptrdiff_t>(counted.extent);
      b.dest -= extent * counted.dest;
      b.source -= extent * counted.source;
      index[d] = 0;
    }
    if (d == b.count) return;
  }
}

}  // namespace

void copy_strided(std::byte* dest, std::ptrdiff_t const* dest_strides, std::byte const* source,
                  std::ptrdiff_t const* source_strides, std::size_t const* extents, std::size_t dimensions,
                  std::size_t element_bytes) {
  if (dimensions > most_dimensions) {
    for (std::size_t i = 0; i < extents[0]; ++i) {
      auto const index = static_cast<std::ptrdiff_t>(i);
      copy_strided(dest + index * dest_strides[0], dest_strides + 1, source + index * source_strides[0],
                   source_strides + 1, extents + 1, dimensions - 1, element_bytes);
    }
    return;
  }
  box b;
  b.dest = dest;
  b.source = source;
  b.run = element_bytes;
  if (!normalise(b, dest_strides, source_strides, extents, dimensions)) return;
  merge(b);
  copy_box(b);
}

bool prepare_box(prepared_box& prepared, std::byte* dest, std::ptrdiff_t const* dest_strides,
                 std::byte const* source, std::ptrdiff_t const* source_strides, std::size_t const* extents,
                 std::size_t dimensions, std::size_t element_bytes) {
  box b;
  b.dest = dest;
  b.source = source;
  b.run = element_bytes;
  if (!normalise(b, dest_strides, source_strides, extents, dimensions)) return false;
  merge(b);
  while (b.count < prepared_box::most_dimensions) b.dimensions[b.count++] = {0, 0, 1};
  prepared.dest = b.dest;
  prepared.source = b.source;
  prepared.run = b.run;
  std::copy_n(b.dimensions.begin(), prepared_box::most_dimensions, prepared.dimensions);
  prepared.copy = functions_for(b.run).box;
  return true;
}

}  // namespace atl::engine
