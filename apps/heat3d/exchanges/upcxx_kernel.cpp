// The kernel of `--exchange device`: which one, on how many blocks of threads, and how it is started.

#include "exchanges/upcxx_kernel.hpp"

#include <algorithm>
#include <iterator>
#include <limits>
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
    if (work.places > 0) {
      auto const bytes = bytes_kept(work.flags.tiles, static_cast<int>(work.places), work.way.copies);
      std::vector<double> memory(static_cast<std::size_t>(bytes) / sizeof(double));
      auto* const run = work.way.columns == 2  ? &run_from_memory<2, 1>
                        : work.way.copies == 2 ? &run_from_memory<1, 2>
                                               : &run_from_memory<1, 1>;
      run(work, memory.data(), radiated);
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

/// More threads have too few registers, and are slower for it. Two columns each need more registers.
constexpr int kept_threads(int columns) { return columns == 1 ? 512 : 384; }
constexpr int warp = 32;
static_assert(kept_threads(1) % warp == 0 && kept_threads(2) % warp == 0);
template <int columns, int copies>
__global__ void __launch_bounds__(kept_threads(columns), 1)
    kept_kernel(__grid_constant__ kernel_work const work) {
  extern __shared__ double memory[];
  run_from_memory<columns, copies>(work, memory, sum_of_thread<kept_threads(columns)>());
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

/// What blocks of threads have for tiles that they keep.
struct kept_room {
  int blocks;
  std::int64_t bytes;  ///< of memory, for each
  int threads[2];      ///< at most, for one column each and for two
  int group;           ///< threads come in so many
};

/// In which chunks cells at faces are computed, and how much longer a step lasts for it, in units of kept_cost().
struct chunking {
  std::uint32_t cells;
  double cost;
};
chunking chunks_beside(std::int64_t tile_n, std::int64_t threads, int blocks, std::int64_t boundary_cells) {
  constexpr double late = 160;  // a block has a chunk before its tile
  constexpr double again = 50;  // with more cells than threads
  // Never two chunks for a block: it would wait for what it has stored after each of them.
  auto const plan = [&](std::int64_t idle, double first) {
    auto const rounds = pieces_for(boundary_cells, idle * threads);
    return chunking{static_cast<std::uint32_t>(rounds * threads),
                    first + again * static_cast<double>(rounds - 1)};
  };
  if (boundary_cells == 0) return {static_cast<std::uint32_t>(threads), 0};
  auto const all = plan(blocks, late);
  if (tile_n >= blocks) return all;
  auto const others = plan(blocks - tile_n, 0);
  return others.cost < all.cost ? others : all;
}

/// With a block for every tile; no threads if that does not work out.
kernel_shape kept_shape(block const& own, kept_room const& room) {
  auto const inner = inner_box(own);
  kernel_shape best{};
  // Cells of the field have 32-bit numbers there.
  if (room.blocks < 1 || own.cells.cell_n() > std::numeric_limits<std::int32_t>::max()) return best;
  auto const boundary_cells = std::int64_t{chunks_of(own, 1)};
  if (inner.is_empty()) {
    auto const chunks = chunks_beside(0, room.threads[0], room.blocks, boundary_cells);
    return {static_cast<std::uint32_t>(room.threads[0]), room.blocks, {}, 1, {1, 1}, chunks.cells, nullptr};
  }
  double least = 0;
  for (auto const& way : kept_ways) {
    int const most = room.threads[way.columns - 1];
    // Blocks without tiles have chunks: many, or as few as need a round or two.
    auto const for_chunks = pieces_for(boundary_cells, most);
    for (auto const idle :
         {std::int64_t{0}, pieces_for(for_chunks, 2), for_chunks, for_chunks + for_chunks / 2}) {
      auto const tiles = kept_tiling(inner, way, most, room.blocks - idle, room.bytes);
      if (tiles.tile_n() == 0) continue;
      // Idle threads would wait with the others in each plane.
      auto const threads = pieces_for(threads_for(tiles, way.columns), room.group) * room.group;
      auto const chunks = chunks_beside(tiles.tile_n(), threads, room.blocks, boundary_cells);
      auto const cost = kept_cost(tiles, way) + chunks.cost;
      if (best.threads > 0 && cost >= least) continue;
      least = cost;
      best = {static_cast<std::uint32_t>(threads),
              room.blocks,
              tiles,
              static_cast<std::uint32_t>(places_in(tiles, room.bytes, way.copies)),
              way,
              chunks.cells,
              nullptr};
    }
  }
  return best;
}

// Threads that play blocks have little, so that tests have many chunks and tiles, several for a block, and blocks of cells that are kept and others.

constexpr std::uint32_t played_chunk = 7;

int played_blocks(atl::device_team const& team) {
  constexpr int most = 4;
  return std::min(most, team.max_blocks(played_steps{}, 1, 0, kernel_work{}));
}

/// That of the kernel which keeps tiles; no threads if it cannot.
kernel_shape shape_that_keeps(atl::device_team const& team, block const& own) {
  if (team.is_played()) {
    // By size one way or the other, so that all of them are tested.
    bool const odd = own.cells.cell_n() % 2 != 0;
    auto shape = kept_shape(own, {played_blocks(team), 12'000, {odd ? 160 : 100, 100}, 1});
    shape.chunk_cells = played_chunk;
    return shape;
  }
#ifdef __CUDACC__
  using kernel = void (*)(kernel_work);
  constexpr kernel kernels[] = {&kept_kernel<1, 2>, &kept_kernel<1, 1>, &kept_kernel<2, 1>};
  static_assert(std::size(kernels) == std::size(kept_ways));
  auto bytes = most_shared_bytes(reinterpret_cast<void const*>(kernels[0]));
  for (auto* each : kernels) bytes = std::min(bytes, most_shared_bytes(reinterpret_cast<void const*>(each)));
  if (bytes <= 0) return {};
  int blocks = std::numeric_limits<int>::max();
  for (std::size_t i = 0; i < std::size(kernels); ++i) {
    auto const threads = static_cast<std::uint32_t>(kept_threads(kept_ways[i].columns));
    blocks = std::min(blocks, team.max_blocks(kernels[i], threads, static_cast<std::size_t>(bytes)));
  }
  auto shape = kept_shape(own, {blocks, bytes, {kept_threads(1), kept_threads(2)}, warp});
  if (shape.threads == 0) return shape;
  shape.code = reinterpret_cast<void const*>(kernels[std::ranges::find(kept_ways, shape.way) - kept_ways]);
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
    return {1, played_blocks(team), tiling_of(inner, 5, 3, {100, 1}), 0, {}, played_chunk, nullptr};
#ifdef __CUDACC__
  int const each = blocks_at_once(chosen.cell_n);
  auto* const code = each == 3 ? &steps_kernel<3> : &steps_kernel<4>;
  int const blocks = team.max_blocks(code, block_threads);
  device_room const room{std::max(blocks / each, 1), each};
  return {block_threads,
          blocks,
          tiling_of(inner, block_threads, room),
          0,
          {},
          block_threads,
          reinterpret_cast<void const*>(code)};
#else
  return {1, 0, {}, 0, {}, 1, nullptr};  // nothing computes on such a device in this build
#endif
}

void start_kernel(atl::device_team const& team, atl::stream const& stream, kernel_shape const& shape,
                  kernel_work work) {
  work.places = shape.places;
  work.way = shape.way;
  work.chunk_cells = shape.chunk_cells;
  auto const items = static_cast<std::int64_t>(work.chunk_n) + work.flags.tiles.tile_n();
  auto const blocks = static_cast<unsigned>(std::min<std::int64_t>(items, shape.blocks));
  if (team.is_played()) return on::launch(team, stream, {blocks, 1}, played_steps{}, work);
#ifdef __CUDACC__
  void* arguments[] = {&work};
  auto const bytes = shape.places == 0 ? std::size_t{0}
                                       : static_cast<std::size_t>(bytes_kept(
                                             shape.tiles, static_cast<int>(shape.places), shape.way.copies));
  auto const status = cudaLaunchCooperativeKernel(shape.code, dim3(blocks), dim3(shape.threads), arguments,
                                                  bytes, stream.native());
  if (status != cudaSuccess) device_failed(std::string("kernel of all steps: ") + cudaGetErrorString(status));
#endif
}

}  // namespace heat3d
