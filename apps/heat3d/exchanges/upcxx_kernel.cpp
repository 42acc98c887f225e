// The kernel of `--exchange device`: which one, on how many blocks of threads, and how it is started.

#include "exchanges/upcxx_kernel.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include "backends/accelerator.hpp"
#include "exchanges/upcxx_kernel_steps.hpp"

namespace heat3d {
namespace {

/// For threads that play blocks. Compiled for devices, too, but not started there.
struct played_steps {
  ATOLL_ANYWHERE void operator()([[maybe_unused]] kernel_work const& work) const {
#ifndef __CUDA_ARCH__
    compensated_sum radiated;
    if (work.kept_cells > 0) {
      std::vector<double> memory(2 * std::size_t{work.kept_cells});
      std::vector<side_cell> sides(static_cast<std::size_t>(most_sides(work.flags.tiles)));
      run_from_memory(work, memory.data(), sides.data(), radiated);
    } else {
      run_from_field(work, radiated);
    }
#endif
  }
};

#ifdef __CUDACC__
/// Cells at the outer surface are few, and registers, too: what each thread has found radiated is in shared memory.
template <int threads>
__device__ compensated_sum& sum_of_thread() {
  __shared__ compensated_sum sums[threads];
  sums[threadIdx.x] = {0, 0};
  return sums[threadIdx.x];
}

/// `blocks` at a time on a multiprocessor.
template <int blocks>
__global__ void __launch_bounds__(block_threads, blocks)
    steps_kernel(__grid_constant__ kernel_work const work) {
  run_from_field(work, sum_of_thread<block_threads>());
}

/// More threads have too few registers, and are slower for it.
constexpr int kept_threads = 512;
__global__ void __launch_bounds__(kept_threads, 1) kept_kernel(__grid_constant__ kernel_work const work) {
  extern __shared__ double memory[];
  auto* const sides = reinterpret_cast<side_cell*>(memory + 2 * work.kept_cells);
  run_from_memory(work, memory, sides, sum_of_thread<kept_threads>());
}

/// Where a step is short, fewer blocks wait for each other sooner, and have registers for it (H200, 100^3: 8.3 us with three, 9.8
/// with four). Where it is long, memory wants more of them (200^3: 73 and 54 us).
int blocks_at_once(std::int64_t cell_n) {
  constexpr std::int64_t few_cells = 2'000'000;
  return cell_n <= few_cells ? 3 : 4;
}

/// What a block of that kernel may ask for beside what it has.
std::int64_t most_shared_bytes(void const* kernel) {
  int device = 0;
  int most = 0;
  cudaFuncAttributes has{};
  if (cudaGetDevice(&device) != cudaSuccess || cudaFuncGetAttributes(&has, kernel) != cudaSuccess ||
      cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device) != cudaSuccess) {
    return 0;
  }
  return most - static_cast<std::int64_t>(has.sharedSizeBytes);
}
#endif

/// With every tile in memory of a block of its own, `bytes` for each; no threads if that does not work out.
kernel_shape kept_shape(block const& own, int threads, int blocks, std::int64_t bytes,
                        std::uint32_t chunk_cells) {
  auto const inner = inner_box(own);
  if (blocks < 1) return {};
  // Best if no block has to do a chunk first.
  auto tiles = kept_tiling(inner, threads, blocks - std::int64_t{chunks_of(own, chunk_cells)}, bytes);
  if (tiles.tile_n() == 0) tiles = kept_tiling(inner, threads, blocks, bytes);
  if (tiles.tile_n() == 0 && !inner.is_empty()) return {};
  return {static_cast<std::uint32_t>(threads),           blocks,      tiles,
          static_cast<std::uint32_t>(cells_kept(tiles)), chunk_cells, nullptr};
}

// Threads that play blocks have little, so that tests have many chunks and tiles, several for a block, and blocks of cells that are kept and others.

constexpr std::uint32_t played_chunk = 7;

int played_blocks(atl::device_team const& team) {
  constexpr int most = 4;
  return std::min(most, team.max_blocks(played_steps{}, 1, 0, kernel_work{}));
}

/// That of the kernel which keeps tiles; no threads if it cannot.
kernel_shape shape_that_keeps(atl::device_team const& team, block const& own) {
  constexpr int most_columns = 100;
  constexpr std::int64_t most_bytes = 20'000;
  if (team.is_played()) return kept_shape(own, most_columns, played_blocks(team), most_bytes, played_chunk);
#ifdef __CUDACC__
  auto const* const code = reinterpret_cast<void const*>(&kept_kernel);
  auto const bytes = most_shared_bytes(code);
  if (bytes <= 0) return {};
  int const blocks = team.max_blocks(&kept_kernel, kept_threads, static_cast<std::size_t>(bytes));
  auto shape = kept_shape(own, kept_threads, blocks, bytes, kept_threads);
  shape.code = code;
  return shape;
#else
  return {};
#endif
}

}  // namespace

std::uint32_t chunks_of(block const& own, std::uint32_t chunk_cells) {
  std::int64_t cells = 0;
  for (auto const& part : surface_boxes(own)) cells += part.cell_n();
  return static_cast<std::uint32_t>(pieces_for(cells, chunk_cells));
}

kernel_choice possible_kernel(atl::device_team const& team, block const& own) {
  return {shape_that_keeps(team, own).threads > 0, own.cells.cell_n()};
}

kernel_shape shape_of_kernel(atl::device_team const& team, block const& own,
                             [[maybe_unused]] kernel_choice const& chosen) {
  if (chosen.keeps_tiles) return shape_that_keeps(team, own);
  auto const inner = inner_box(own);
  if (team.is_played())
    return {1, played_blocks(team), tiling_of(inner, 5, 3, {100, 1}), 0, played_chunk, nullptr};
#ifdef __CUDACC__
  int const each = blocks_at_once(chosen.cell_n);
  auto* const code = each == 3 ? &steps_kernel<3> : &steps_kernel<4>;
  int const blocks = team.max_blocks(code, block_threads);
  device_room const room{std::max(blocks / each, 1), each};
  return {block_threads,
          blocks,
          tiling_of(inner, block_threads, room),
          0,
          block_threads,
          reinterpret_cast<void const*>(code)};
#else
  return {1, 0, {}, 0, 1, nullptr};  // nothing computes on such a device in this build
#endif
}

void start_kernel(atl::device_team const& team, atl::stream const& stream, kernel_shape const& shape,
                  kernel_work work) {
  work.kept_cells = shape.kept_cells;
  work.chunk_cells = shape.chunk_cells;
  auto const items = static_cast<std::int64_t>(work.chunk_n) + work.flags.tiles.tile_n();
  auto const blocks = static_cast<unsigned>(std::min<std::int64_t>(items, shape.blocks));
  if (team.is_played()) return on::launch(team, stream, {blocks, 1}, played_steps{}, work);
#ifdef __CUDACC__
  void* arguments[] = {&work};
  std::size_t const bytes = shape.kept_cells > 0 ? static_cast<std::size_t>(bytes_kept(shape.tiles)) : 0;
  auto const status = cudaLaunchCooperativeKernel(shape.code, dim3(blocks), dim3(shape.threads), arguments,
                                                  bytes, stream.native());
  if (status != cudaSuccess) device_failed(std::string("kernel of all steps: ") + cudaGetErrorString(status));
#endif
}

}  // namespace heat3d
