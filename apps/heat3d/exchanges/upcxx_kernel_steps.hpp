#pragma once

/// Many steps of a block in one kernel. In each of them all blocks of threads do what is theirs: first chunks of cells at faces,
/// which wait for the neighbours' and are stored straight into their halos, then tiles of inner cells, while planes travel. Then
/// all wait for all, since the next step reads what others have written in this one, and overwrites what they have read.
///
/// Where there is a block of threads for each tile, and its memory has room for it, tiles stay there for all steps.
///
/// Threads of the host play the same on simulated devices, a thread a block. To be included by one file.

#include <atoll/device.cuh>
#include <vector>

#include "backends/block_sum.cuh"
#include "backends/kept_tiles.hpp"
#include "backends/kernel_exchange.hpp"

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

/// Fetches from the field, which others have written, what is beyond the sides of a tile that this block keeps.
HEAT3D_CELL void fetch_sides(double const* field, side_cell const* sides, std::uint32_t side_n,
                             double* cells) {
  auto const count = static_cast<std::uint32_t>(on::this_block().size());
  // The field is far away: several at a time.
  constexpr int at_once = 5;
  for (auto i = static_cast<std::uint32_t>(on::this_block().rank()); i < side_n; i += at_once * count) {
    side_cell places[at_once];
    double values[at_once];
    for (int k = 0; k < at_once; ++k) {
      if (i + k * count >= side_n) break;
      places[k] = sides[i + k * count];
      values[k] = field[places[k].field];
    }
    for (int k = 0; k < at_once; ++k) {
      if (i + k * count >= side_n) break;
      cells[places[k].kept] = values[k];
    }
  }
}

/// The columns of a tile that are this thread's: one at most, but a thread that plays a block has all.
class own_columns {
 public:
  ATOLL_ANYWHERE own_columns(sweep_work const& w, kept_tile const& tile) {
    auto const width = tile.n[0];
#ifdef __CUDA_ARCH__
    auto const i = static_cast<int>(on::this_block().rank());
    is_one_ = i < width * tile.n[1];
    if (is_one_) column_ = kept_column(w, tile, i % width, i / width);
#else
    for (int i = 0; i < width * tile.n[1]; ++i) columns_.emplace_back(w, tile, i % width, i / width);
#endif
  }
  template <class Each>
  HEAT3D_CELL void for_each(Each&& each) const {
#ifdef __CUDA_ARCH__
    if (is_one_) each(column_);
#else
    for (auto const& column : columns_) each(column);
#endif
  }

 private:
#ifdef __CUDA_ARCH__
  bool is_one_;
  kept_column column_;
#else
  std::vector<kept_column> columns_;
#endif
};

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

/// Each block keeps its tile in `memory` meanwhile: that of steps of parity p in the p'th part of it.
ATOLL_ANYWHERE void run_from_memory(kernel_work const& work, double* memory, side_cell* sides,
                                    compensated_sum& radiated) {
  auto const block = on::this_block();
  auto const number = first_item(work.chunk_n);
  bool const has_one = number < static_cast<std::uint32_t>(work.flags.tiles.tile_n());
  // A block without a tile has only its share of chunks, and waits with the others.
  if (!has_one) {
    run_steps(work, radiated, [](sweep_work const&, basic_tile_flags<known_step> const&) {});
    return add_to_slot(work, radiated);
  }
  kept_tile const tile(work.sweeps[0], work.flags.tiles, number);
  own_columns const columns(work.sweeps[0], tile);
  auto const cells_of = [&](std::uint32_t step) { return memory + (step % 2 == 0 ? 0 : work.kept_cells); };
  auto const side_n = tile.side_n();
  for (auto i = static_cast<std::uint32_t>(block.rank()); i < side_n;
       i += static_cast<std::uint32_t>(block.size()))
    sides[i] = tile.side(i);
  auto const begin = work.flags.clock.step;
  columns.for_each([&](kept_column const& column) {
    double const* const field = work.sweeps[begin % 2].from;
    for (int z = 0; z < column.n; ++z)
      cells_of(begin)[column.at + z * tile.plane] = field[column.in_field + z * tile.field_plane()];
    column.close_ends(tile, cells_of(begin));
  });
  block.sync();

  run_steps(work, radiated, [&](sweep_work const& w, basic_tile_flags<known_step> const& flags) {
    double* const from = cells_of(flags.clock.step);
    double* const to = cells_of(flags.clock.step + 1);
    bool const careful = flags.need_care(w, tile.place);
    fetch_sides(w.from, sides, side_n, from);
    block.sync();
    columns.for_each([&](kept_column const& column) {
      auto const found = careful ? walk_kept_with_care(w, tile, column, from, to)
                                 : walk_kept<double>(w, tile, column, from, to);
      if (found.radiated != 0) radiated.add(found.radiated);
      if (found.tiny) flags.note_tiny(w, tile.place, column.sides);
    });
  });

  auto const end = begin + work.step_n;
  columns.for_each([&](kept_column const& column) {
    double* const field = work.sweeps[1 - end % 2].to;
    for (int z = 0; z < column.n; ++z)
      field[column.in_field + z * tile.field_plane()] = cells_of(end)[column.at + z * tile.plane];
  });
  add_to_slot(work, radiated);
}

}  // namespace
}  // namespace heat3d
