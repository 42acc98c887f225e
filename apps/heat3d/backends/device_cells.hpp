#pragma once

/// What one thread of a device does in a sweep, whoever started it: CUDA's kernels or Kokkos'.

#include <cstdint>

#include "backends/tiles.hpp"
#include "problem/stencil.hpp"

namespace heat3d {

/// What becomes of the cells of one thread.
struct swept {
  double radiated = 0;  ///< in units of sigma
  bool tiny = false;    ///< some result is, see tile_flags
};

/// Reads of the present field and halos, which no kernel that runs at the same time writes to.
HEAT3D_CELL double load_once(double const* p) {
#ifdef __CUDA_ARCH__
  return __ldg(p);
#else
  return *p;
#endif
}

/// Inner cells of one column, from `first` to `last`, which stay in registers on the way up. `Real` is double or flushing. `surface`: some may be at the
/// outer surface; to work that out for cells of which none is takes a seventh longer. Two loops would be no faster.
template <class Real>
HEAT3D_CELL swept walk_column(sweep_work const& w, int x, int y, int first, int last, bool surface) {
  auto const nx = static_cast<int>(w.extent[0]);
  auto const plane = w.extent[0] * w.extent[1];
  // A missing neighbour is the cell itself.
  int const x_low = x > 0 ? -1 : 0;
  int const x_high = x + 1 < nx ? 1 : 0;
  int const y_low = y > 0 ? -nx : 0;
  int const y_high = y + 1 < w.extent[1] ? nx : 0;
  int const sides = (x_low == 0) + (x_high == 0) + (y_low == 0) + (y_high == 0);
  auto const at = position(w.extent, x, y, first);
  double const* __restrict__ p = w.from + at;
  double* __restrict__ out = w.to + at;
  double below = load_once(first > 0 ? p - plane : p);
  double here = load_once(p);
  swept found;
#ifdef __CUDACC__
// Two, since more take more registers than leave the device full of threads.
#pragma unroll 2
#endif
  for (int z = first; z < last; ++z) {
    bool const top = z + 1 == w.extent[2];
    neighborhood const a{here,
                         load_once(p + x_low),
                         load_once(p + x_high),
                         load_once(p + y_low),
                         load_once(p + y_high),
                         below,
                         load_once(top ? p : p + plane),
                         w.heated && x == 0 ? w.k.power : 0.0,
                         surface ? sides + (z == 0) + top : 0};
    double const value = advanced_as<Real>(a, w.k);
    *out = value;
    found.tiny |= is_tiny(value, w.tiny);
    if (a.exposed != 0) found.radiated += a.exposed * fourth_power(here);
    below = here;
    here = a.z_high;
    p += plane;
    out += plane;
  }
  return found;
}

/// Apart: the registers that it needs would leave fewer threads at a time for all others.
HEAT3D_APART swept walk_with_care(sweep_work const& w, int x, int y, int first, int last, bool surface) {
  return walk_column<flushing>(w, x, y, first, last, surface);
}

/// Inner cells: those of one thread of a tile.
HEAT3D_CELL swept sweep_tile(sweep_work const& w, tile_flags const& flags, tile_place const& tile,
                             int thread_x, int thread_y) {
  tiling const& t = flags.tiles;
  int const x = static_cast<int>(w.part.low[0]) + tile.x * t.width + thread_x;
  int const y = static_cast<int>(w.part.low[1]) + tile.y * t.height + thread_y;
  int const first = static_cast<int>(w.part.low[2]) + tile.z * t.depth;
  int const end = static_cast<int>(w.part.high[2]);
  int const last = first + t.depth < end ? first + t.depth : end;
  swept found;
  if (w.counts && thread_x + thread_y == 0 && tile.number_in(t) == 0) flags.clock.count(w.parity);
  if (x < w.part.high[0] && y < w.part.high[1]) {
    bool const surface = tile.is_at_surface(w, t);
    found = flags.need_care(w, tile) ? walk_with_care(w, x, y, first, last, surface)
                                     : walk_column<double>(w, x, y, first, last, surface);
    if (found.tiny) flags.note_tiny(w, tile);
  }
  return found;
}

/// Any cell, by its number in the part, x fastest: what it radiates. A face has fewer than 2^32 cells, and narrow divisions are quick.
HEAT3D_CELL double sweep_cell(sweep_work const& w, tile_flags const& flags, std::uint32_t i) {
  auto const e0 = static_cast<std::uint32_t>(w.part.high[0] - w.part.low[0]);
  auto const e1 = static_cast<std::uint32_t>(w.part.high[1] - w.part.low[1]);
  auto const row = i / e0;
  auto const x = w.part.low[0] + i % e0;
  auto const y = w.part.low[1] + row % e1;
  auto const z = w.part.low[2] + row / e1;
  auto const a = neighbors_of(w, x, y, z);
  double const value = advanced_cell(a, w);
  w.to[position(w.extent, x, y, z)] = value;
  if (is_tiny(value, w.tiny)) flags.note_tiny_cell(w, x, y, z);
  return a.exposed * fourth_power(a.c);
}

}  // namespace heat3d
