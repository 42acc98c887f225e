#pragma once

/// The kernel of `--exchange device`, compiled for CUDA where the build has its compiler.

#include <atoll/device.cuh>

#include "backends/kernel_exchange.hpp"
#include "problem/decomposition.hpp"

namespace heat3d {

/// Of the kernel for that block of cells.
kernel_shape shape_of_kernel(atl::device_team const& team, block const& own);
/// Cells at faces with a neighbour, in chunks of so many.
std::uint32_t chunks_of(block const& own, std::uint32_t chunk_cells);
/// Addresses of `work` are as kernels of the team see them.
void start_kernel(atl::device_team const& team, atl::stream const& stream, kernel_shape const& shape,
                  kernel_work work);

}  // namespace heat3d
