#pragma once

/// Kernels of the library: their names, and what they are given.

#include <cstdint>

#if defined(__CUDACC__)
#define ATOLL_ON_DEVICES __host__ __device__
#else
#define ATOLL_ON_DEVICES
#endif

namespace atl::memory::cuda {

/// Of the kernel atoll_copies, which has a block of `threads_of_copy` for each.
struct small_copies {
  static constexpr int most = 32;
  std::uint64_t to[most];
  std::uint64_t from[most];
  std::uint32_t bytes[most];
};

/// Threads of a block, which move that many bytes in one go: more are better copied by the driver.
inline constexpr unsigned threads_of_copy = 256;
inline constexpr std::uint32_t most_bytes_of_small_copy = threads_of_copy * 16;

/// Of the kernel atoll_box: a box of runs of bytes, which its threads move by units.
struct box_copy {
  static constexpr int most_dimensions = 4;
  std::uint64_t to;  ///< index 0 in all dimensions
  std::uint64_t from;
  std::uint32_t unit;   ///< bytes, 1, 2, 4, 8 or 16, of which all that follows and both ends are multiples
  std::uint32_t run;    ///< units that are contiguous at both ends
  std::uint32_t units;  ///< of all runs
  std::uint32_t extents[most_dimensions];
  std::int64_t to_strides[most_dimensions];  ///< bytes
  std::int64_t from_strides[most_dimensions];

  /// Where a unit goes, or comes from.
  ATOLL_ON_DEVICES std::uint64_t place(std::uint64_t first, std::int64_t const* strides,
                                       std::uint32_t number) const {
    std::uint32_t rest = number / run;
    std::uint64_t at = first + std::uint64_t{number - rest * run} * unit;
    for (int d = 0; d < most_dimensions; ++d) {
      std::uint32_t const index = rest % extents[d];
      rest /= extents[d];
      at += static_cast<std::uint64_t>(std::int64_t{index} * strides[d]);
    }
    return at;
  }
};
inline constexpr std::uint32_t most_units_of_box = 1U << 31;
inline constexpr unsigned most_blocks_of_box = 1024;

/// For the driver's compiler, from which devices of compute capability 7.0 on get them.
extern char const kernels_ptx[];

}  // namespace atl::memory::cuda
