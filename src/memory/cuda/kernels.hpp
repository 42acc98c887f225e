#pragma once

/// Kernels of the library: their names, and what they are given.

#include <cstdint>

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

/// For the driver's compiler, from which devices of compute capability 7.0 on get them.
extern char const kernels_ptx[];

}  // namespace atl::memory::cuda
