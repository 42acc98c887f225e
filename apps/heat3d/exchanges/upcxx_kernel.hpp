#pragma once

/// The kernel of `--exchange device`, compiled for CUDA where the build has its compiler.

#include <atoll/device.cuh>

#include "backends/kernel_exchange.hpp"

namespace heat3d {

/// Cells of a chunk.
std::uint32_t kernel_chunk(atl::device_team const& team);
/// Blocks of threads that are there at once, of the kernel for blocks of so many cells.
int most_kernel_blocks(atl::device_team const& team, std::int64_t cell_n);
/// Addresses of `work` are as kernels of the team see them.
void start_kernel(atl::device_team const& team, atl::stream const& stream, kernel_work const& work);

}  // namespace heat3d
