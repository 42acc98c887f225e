#pragma once

/// Arrays without their type, and what is planned to be copied between them.

#include <cstddef>
#include <cstdint>

#include <atoll/engine/strided.hpp>
#include <atoll/extensions/array/domain.hpp>
#include <upcxx/detail/config.hpp>
#include <upcxx/team.hpp>

namespace atl::inline UPCXX_MODE::detail {

/// An array without its type: offsets and strides are bytes.
template <int N>
struct plain_array {
  domain<N> where;
  point<N> strides;
  std::uint64_t offset;    ///< of the element at where.lower, in its owner's region; on a device its address
  upcxx::intrank_t owner;  ///< rank in the team
  std::uint64_t memory;    ///< first word of global pointers to the elements

  std::uint64_t offset_of(point<N> const& p) const {
    std::ptrdiff_t bytes = 0;
    for (int d = 0; d < N; ++d) bytes += (p[d] - where.lower[d]) * strides[d];
    return offset + static_cast<std::uint64_t>(bytes);
  }
};

/// A copy that the source's owner does.
template <int N>
struct planned_copy {
  point<N> extents;
  std::uint64_t source;
  point<N> source_strides;
  std::uint64_t dest;  ///< the place itself, or one in the inbox
  point<N> dest_strides;
  std::uint64_t source_memory;  ///< as of plain_array
  std::uint64_t dest_memory;
  bool packed;

  std::size_t elements() const {
    std::size_t all = 1;
    for (int d = 0; d < N; ++d) all *= static_cast<std::size_t>(extents[d]);
    return all;
  }
  /// Bytes that are contiguous on both sides.
  std::size_t piece(std::size_t element_bytes) const {
    auto const element = static_cast<std::ptrdiff_t>(element_bytes);
    for (int d = 0; d < N; ++d) {
      if (source_strides[d] == element && dest_strides[d] == element) {
        return static_cast<std::size_t>(extents[d]) * element_bytes;
      }
    }
    return element_bytes;
  }
};

/// Calls f with the ends (bytes, relative) and extents of the boxes of a planned copy: one unless there are more dimensions than a box has.
template <int N, class F>
void for_each_box(planned_copy<N> const& t, F&& f) {
  std::size_t extents[N];
  for (int d = 0; d < N; ++d) extents[d] = static_cast<std::size_t>(t.extents[d]);
  constexpr int within = N < 4 ? N : 4;
  static_assert(within <= static_cast<int>(atl::engine::prepared_box::most_dimensions));
  domain<N> outer{{}, t.extents};  // indices of the dimensions beyond those of a box
  for (int d = 0; d < within; ++d) outer.upper[d] = 1;
  for (point<N> const& p : outer) {
    std::ptrdiff_t dest = 0;
    std::ptrdiff_t source = 0;
    for (int d = within; d < N; ++d) {
      dest += p[d] * t.dest_strides[d];
      source += p[d] * t.source_strides[d];
    }
    f(dest, source, extents, std::size_t{within});
  }
}

}  // namespace atl::inline UPCXX_MODE::detail
