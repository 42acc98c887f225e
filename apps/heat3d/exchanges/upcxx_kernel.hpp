#pragma once

/// The kernel of `--exchange device`, compiled for CUDA where the build has its compiler.

#include <atoll/device.cuh>
#include <cstdint>

#include "backends/kernel_exchange.hpp"
#include "problem/decomposition.hpp"

namespace heat3d {

/// Kernels of ranks wait for each other, so where they share a device all must have room: they are the same everywhere.
struct kernel_choice {
  bool keeps_tiles;     ///< see kernel_work
  std::int64_t cell_n;  ///< of the largest block
};
/// What this rank could have.
kernel_choice possible_kernel(atl::device_team const& team, block const& own);
/// Of the kernel that all ranks have, for this block of cells.
kernel_shape shape_of_kernel(atl::device_team const& team, block const& own, kernel_choice const& chosen);
/// Cells at faces with a neighbour, in chunks of so many.
std::uint32_t chunks_of(block const& own, std::uint32_t chunk_cells);
/// Addresses of `work` are as kernels of the team see them.
void start_kernel(atl::device_team const& team, atl::stream const& stream, kernel_shape const& shape,
                  kernel_work work);

}  // namespace heat3d
