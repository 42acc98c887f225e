// Many steps of a block in one kernel. In each of them all blocks of threads do what is theirs: first chunks of cells at faces,
// which wait for the neighbours' and are stored straight into their halos, then tiles of inner cells, while planes travel. Then
// all wait for all, since the next step reads what others have written in this one, and overwrites what they have read.
//
// Threads of the host play the same on simulated devices, a thread a block.

#include "exchanges/upcxx_kernel.hpp"

#include <algorithm>
#include <string>

#include "backends/accelerator.hpp"
#include "backends/block_sum.cuh"
#include "backends/device_cells.hpp"

namespace heat3d {
namespace {

namespace on = atl::device;
namespace words = atl::words;

/// The first of the items first, first + count, ... of this block, if the blocks take turns from item number 0 on,
/// which is that of block `shift`.
HEAT3D_CELL std::uint32_t first_item(std::uint32_t shift) {
  auto const count = static_cast<std::uint32_t>(on::this_block().count());
  return (static_cast<std::uint32_t>(on::this_block().index()) + count - shift % count) % count;
}

/// What is of step `step` is there, from all neighbours: one acquire per word, whose thread hands on to all what it has seen.
HEAT3D_CELL void await_chunks(kernel_work const& work, std::uint64_t step) {
  auto const block = on::this_block();
  for (auto i = block.rank(); i < work.heard_n; i += block.size()) {
    while (words::load_acquire(work.heard + i) <= step) words::between_looks();
  }
  block.sync();
}

/// What this block has stored of the chunk for step `step` is there. Only those who have stored something give such a release: it lasts until
/// that has arrived.
HEAT3D_CELL void tell_chunk(kernel_work const& work, std::uint32_t chunk, std::uint64_t step) {
  auto const block = on::this_block();
  block.sync();
  for (auto f = block.rank(); f < face_n; f += block.size()) {
    if (work.told[f] != nullptr) words::store_release(work.told[f] + chunk, step + 1);
  }
}

/// Calls `each` with the numbers of this thread's cells of a chunk.
template <class Each>
HEAT3D_CELL void for_cells(kernel_work const& work, std::uint32_t chunk, Each&& each) {
  auto const block = on::this_block();
  auto const first = chunk * work.chunk_cells;
  auto const cell_n = work.boundaries[0].cell_n();
  auto const end = first + work.chunk_cells < cell_n ? first + work.chunk_cells : cell_n;
  for (auto i = first + static_cast<std::uint32_t>(block.rank()); i < end;
       i += static_cast<std::uint32_t>(block.size())) {
    each(i);
  }
}

/// The planes of step 0, of a field that was loaded.
HEAT3D_CELL void store_loaded(kernel_work const& work) {
  auto const& w = work.sweeps[0];
  auto const& boundary = work.boundaries[1];  // planes of even steps
  for (auto chunk = first_item(0); chunk < work.chunk_n;
       chunk += static_cast<std::uint32_t>(on::this_block().count())) {
    for_cells(work, chunk, [&](std::uint32_t i) {
      auto const at = place_at_faces(boundary, i);
      put_into_planes(boundary, w.extent, at, w.from[position(w.extent, at.x, at.y, at.z)]);
    });
    tell_chunk(work, chunk, 0);
  }
}

/// One step, of a parity that the compiler knows: so what is told of it are constants, and takes no registers.
template <int parity>
HEAT3D_CELL void run_step(kernel_work const& work, std::uint32_t step, compensated_sum& radiated) {
  auto const block = on::this_block();
  auto const count = static_cast<std::uint32_t>(block.count());
  auto const& w = work.sweeps[parity];
  auto const& boundary = work.boundaries[parity];
  auto flags = work.flags;
  flags.clock.step = step;
  if (on::this_grid().rank() == 0) flags.clock.stamp();

  auto chunk = first_item(0);
  if (chunk < work.chunk_n) await_chunks(work, step);
  for (; chunk < work.chunk_n; chunk += count) {
    for_cells(work, chunk,
              [&](std::uint32_t i) { radiated.add(sweep_boundary_cell(w, boundary, flags, i)); });
    tell_chunk(work, chunk, step + 1);
  }

  tiling const& t = flags.tiles;
  auto const layer = static_cast<std::uint32_t>(t.n_x * t.n_y);
  auto const tile_n = layer * static_cast<std::uint32_t>(t.n_z);
  // Blocks without chunks come first, as these are not waiting.
  for (auto i = first_item(work.chunk_n); i < tile_n; i += count) {
    tile_place const tile{static_cast<int>(i % layer) % t.n_x, static_cast<int>(i % layer) / t.n_x,
                          static_cast<int>(i / layer)};
    for (auto thread = static_cast<int>(block.rank()); thread < t.width * t.height;
         thread += static_cast<int>(block.size())) {
      auto const found = sweep_tile(w, flags, tile, thread % t.width, thread / t.width);
      if (found.radiated != 0) radiated.add(found.radiated);
    }
  }
}

/// Adds what all threads of this block have found to its slot.
ATOLL_ANYWHERE void add_to_slot(kernel_work const& work, compensated_sum const& radiated) {
  compensated_sum sum = radiated;
#ifdef __CUDA_ARCH__
  sum.low = block_sum(radiated.low);
  __syncthreads();
  sum.high = block_sum(radiated.high);
#endif
  if (on::this_block().rank() == 0) work.slots[on::this_block().index()].add(sum);
}

ATOLL_ANYWHERE void run_steps(kernel_work const& work) {
  auto clock = work.flags.clock;
  auto const end = clock.step + work.step_n;
#ifdef __CUDA_ARCH__
  // Cells at the outer surface are few, and registers, too.
  __shared__ compensated_sum of_threads[block_threads];
  compensated_sum& radiated = of_threads[threadIdx.x];
  radiated = {0, 0};
#else
  compensated_sum radiated;
#endif
  if (clock.step == 0) store_loaded(work);
  for (; clock.step < end; ++clock.step) {
    if (clock.step % 2 == 0) {
      run_step<0>(work, clock.step, radiated);
    } else {
      run_step<1>(work, clock.step, radiated);
    }
    on::this_grid().sync();
  }
  if (on::this_grid().rank() == 0) clock.stamp();
  add_to_slot(work, radiated);
}

/// For threads that play blocks. Compiled for devices, too, but not started there.
struct played_steps {
  ATOLL_ANYWHERE void operator()([[maybe_unused]] kernel_work const& work) const {
#ifndef __CUDA_ARCH__
    run_steps(work);
#endif
  }
};

#ifdef __CUDACC__
/// `blocks` at a time on a multiprocessor.
template <int blocks>
__global__ void __launch_bounds__(block_threads, blocks)
    steps_kernel(__grid_constant__ kernel_work const work) {
  run_steps(work);
}

/// Where a step is short, fewer blocks wait for each other sooner, and have registers for it (H200, 100^3: 8.3 us with three, 9.8
/// with four). Where it is long, memory wants more of them (200^3: 73 and 54 us).
auto* steps_kernel_for(std::int64_t cell_n) {
  constexpr std::int64_t few_cells = 2'000'000;
  return cell_n <= few_cells ? &steps_kernel<3> : &steps_kernel<4>;
}
#endif

}  // namespace

// Played ones are small, so that tests have many chunks, and several for a block.
std::uint32_t kernel_chunk(atl::device_team const& team) { return team.is_played() ? 7 : block_threads; }

int most_kernel_blocks(atl::device_team const& team, [[maybe_unused]] std::int64_t cell_n) {
  constexpr int most_played = 4;
  if (team.is_played()) return std::min(most_played, team.max_blocks(played_steps{}, 1, 0, kernel_work{}));
#ifdef __CUDACC__
  return team.max_blocks(steps_kernel_for(cell_n), block_threads);
#else
  return 0;  // nothing computes on such a device in this build
#endif
}

void start_kernel(atl::device_team const& team, atl::stream const& stream, kernel_work const& work) {
  auto const items = static_cast<std::int64_t>(work.chunk_n) + work.flags.tiles.tile_n();
  auto const cell_n = work.sweeps[0].extent[0] * work.sweeps[0].extent[1] * work.sweeps[0].extent[2];
  auto const blocks = static_cast<unsigned>(std::min<std::int64_t>(items, most_kernel_blocks(team, cell_n)));
  if (team.is_played()) return on::launch(team, stream, {blocks, 1}, played_steps{}, work);
#ifdef __CUDACC__
  auto* argument = const_cast<kernel_work*>(&work);
  void* arguments[] = {&argument[0]};
  auto const status =
      cudaLaunchCooperativeKernel(reinterpret_cast<void const*>(steps_kernel_for(cell_n)), dim3(blocks),
                                  dim3(block_threads), arguments, 0, stream.native());
  if (status != cudaSuccess) device_failed(std::string("kernel of all steps: ") + cudaGetErrorString(status));
#endif
}

}  // namespace heat3d
