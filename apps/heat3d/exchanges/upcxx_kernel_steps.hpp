#pragma once

/// Many steps of a block in one kernel. In each of them all blocks of threads do what is theirs: first chunks of cells at faces,
/// which wait for the neighbours' and are stored straight into their halos, then tiles of inner cells, while planes travel. Then
/// all wait for all, since the next step reads what others have written in this one, and overwrites what they have read.
///
/// Where there is a block of threads for each tile, tiles pass through its memory, and what that has room for stays there for all steps.
///
/// Threads of the host play the same on simulated devices, a thread a block. To be included by one file.

#include <atoll/device.cuh>

#include "backends/block_sum.cuh"
#include "backends/device_cells.hpp"
#include "backends/kernel_exchange.hpp"
#include "backends/tile_walk.hpp"

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

/// Cells at faces of one step.
HEAT3D_CELL void run_chunks(kernel_work const& work, sweep_work const& w, boundary_work const& boundary,
                            basic_tile_flags<known_step> const& flags, compensated_sum& radiated) {
  auto const step = flags.clock.step;
  auto chunk = first_item(0);
  if (chunk < work.chunk_n) await_chunks(work, step);
  for (; chunk < work.chunk_n; chunk += static_cast<std::uint32_t>(on::this_block().count())) {
    for_cells(work, chunk,
              [&](std::uint32_t i) { radiated.add(sweep_boundary_cell(w, boundary, flags, i)); });
    tell_chunk(work, chunk, step + 1);
  }
}

/// Inner cells of one step that come from the field and go there.
HEAT3D_CELL void run_tiles(kernel_work const& work, sweep_work const& w,
                           basic_tile_flags<known_step> const& flags, compensated_sum& radiated) {
  auto const block = on::this_block();
  tiling const& t = flags.tiles;
  auto const tile_n = static_cast<std::uint32_t>(t.tile_n());
  // Blocks without chunks come first, as these are not waiting.
  for (auto i = first_item(work.chunk_n); i < tile_n; i += static_cast<std::uint32_t>(block.count())) {
    auto const tile = tile_place::numbered(static_cast<int>(i), t);
    for (auto thread = static_cast<int>(block.rank()); thread < t.width * t.height;
         thread += static_cast<int>(block.size())) {
      auto const found = sweep_tile(w, flags, tile, thread % t.width, thread / t.width);
      if (found.radiated != 0) radiated.add(found.radiated);
    }
  }
}

/// One step of a tile that passes through memory of this block.
template <class Real, int copies, int columns>
HEAT3D_CELL void run_tile(sweep_work const& w, basic_tile_flags<known_step> const& flags,
                          kept_tile const& tile, own_columns<columns>& own, double* memory, int other,
                          compensated_sum& radiated) {
  auto const barrier = [] { on::this_block().sync(); };
  tile_walk<Real, columns, copies, decltype(barrier)>(w, tile, own, memory, other, barrier).run();
  own.for_each([&](column_stack<columns> const& stack, stack_walk<columns> const& walk) {
    if (walk.radiated != 0) radiated.add(walk.radiated);
    for (int i = 0; i < columns; ++i) {
      if (stack.is_there[i] && walk.least[i] < w.tiny) flags.note_tiny(w, tile.place, stack.sides[i]);
    }
  });
}

/// Apart, as walk_with_care(); by value, since what is referred to does not stay in registers.
template <int copies, int columns>
HEAT3D_APART void run_tile_with_care(sweep_work const& w, basic_tile_flags<known_step> flags,
                                     kept_tile const given, own_columns<columns> const given_columns,
                                     double* memory, int other, compensated_sum& radiated) {
  auto const tile = given;
  auto own = given_columns;
  run_tile<flushing, copies>(w, flags, tile, own, memory, other, radiated);
}

/// One step, of a parity that the compiler knows: so what is told of it are constants, and takes no registers.
template <int parity, class Inner>
HEAT3D_CELL void run_step(kernel_work const& work, std::uint32_t step, compensated_sum& radiated,
                          Inner const& run_inner) {
  auto const& w = work.sweeps[parity];
  auto flags = work.flags;
  flags.clock.step = step;
  if (on::this_grid().rank() == 0) flags.clock.stamp();
  run_chunks(work, w, work.boundaries[parity], flags, radiated);
  run_inner(w, flags);
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

/// All steps, of inner cells by `run_inner`.
template <class Inner>
HEAT3D_CELL void run_steps(kernel_work const& work, compensated_sum& radiated, Inner const& run_inner) {
  auto clock = work.flags.clock;
  auto const end = clock.step + work.step_n;
  if (clock.step == 0) store_loaded(work);
  for (; clock.step < end; ++clock.step) {
    if (clock.step % 2 == 0) {
      run_step<0>(work, clock.step, radiated, run_inner);
    } else {
      run_step<1>(work, clock.step, radiated, run_inner);
    }
    on::this_grid().sync();
  }
  if (on::this_grid().rank() == 0) clock.stamp();
}

ATOLL_ANYWHERE void run_from_field(kernel_work const& work, compensated_sum& radiated) {
  run_steps(work, radiated, [&](sweep_work const& w, basic_tile_flags<known_step> const& flags) {
    run_tiles(work, w, flags, radiated);
  });
  add_to_slot(work, radiated);
}

/// The tile of this block passes through its memory, which has places for planes. Some of them stay there meanwhile.
template <int columns, int copies>
ATOLL_ANYWHERE void run_from_memory(kernel_work const& work, double* memory, compensated_sum& radiated) {
  auto const block = on::this_block();
  auto const number = first_item(work.chunk_n);
  // A block without a tile has only its share of chunks, and waits with the others.
  if (number >= static_cast<std::uint32_t>(work.flags.tiles.tile_n())) {
    run_steps(work, radiated, [](sweep_work const&, basic_tile_flags<known_step> const&) {});
    return add_to_slot(work, radiated);
  }
  kept_tile const tile(work.sweeps[0], work.flags.tiles, number, static_cast<int>(work.places));
  own_columns<columns> own(work.sweeps[0], tile, static_cast<int>(block.rank()));
  // Of two copies those of steps of parity p are in the p'th one.
  auto const copy = copies == 1 ? 0 : static_cast<int>(work.places) * tile.plane;
  auto const copy_of = [&](std::uint32_t step) { return memory + (step % 2 == 0 ? 0 : copy); };
  auto const begin = work.flags.clock.step;
  double const* const before = work.sweeps[begin % 2].from;
  own.for_kept_cells(tile, [&](int kept, int field) { copy_of(begin)[kept] = before[field]; });
  block.sync();

  run_steps(work, radiated, [&](sweep_work const& w, basic_tile_flags<known_step> const& flags) {
    double* const present = copy_of(flags.clock.step);
    int const other = flags.clock.step % 2 == 0 ? copy : -copy;
    if (flags.need_care(w, tile.place)) {
      run_tile_with_care<copies>(w, flags, tile, own, present, other, radiated);
    } else {
      run_tile<double, copies>(w, flags, tile, own, present, other, radiated);
    }
  });

  auto const end = begin + work.step_n;
  double* const after = work.sweeps[1 - end % 2].to;
  own.for_kept_cells(tile, [&](int kept, int field) { after[field] = copy_of(end)[kept]; });
  add_to_slot(work, radiated);
}

}  // namespace
}  // namespace heat3d
