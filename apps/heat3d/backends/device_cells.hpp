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

/// Inner cells of one column, from `first` to `last`, which stay in registers on the way up. `Real` is double or flushing, `Clock` that of the kernel. `surface`: some may be at the
/// outer surface; to work that out for cells of which none is takes a seventh longer. Two loops would be no faster.
template <class Real, class Clock>
HEAT3D_CELL swept walk_column(sweep_work const& w, int x, int y, int first, int last, bool surface) {
  auto const nx = static_cast<int>(w.extent[0]);
  auto const plane = w.extent[0] * w.extent[1];
  // A missing neighbour is the cell itself.
  int const x_low = x > 0 ? -1 : 0;
  int const x_high = x + 1 < nx ? 1 : 0;
  int const y_low = y > 0 ? -nx : 0;
  int const y_high = y + 1 < w.extent[1] ? nx : 0;
  int const sides = (x_low == 0) + (x_high == 0) + (y_low == 0) + (y_high == 0);
  auto const start = position(w.extent, x, y, first);
  double const* __restrict__ p = w.from + start;
  double* __restrict__ out = w.to + start;
  double below = Clock::read(first > 0 ? p - plane : p);
  double here = Clock::read(p);
  swept found;
  auto const read = [&](int z, double const* at, double under, double c) {
    bool const top = z + 1 == w.extent[2];
    return neighborhood{c,
                        Clock::read(at + x_low),
                        Clock::read(at + x_high),
                        Clock::read(at + y_low),
                        Clock::read(at + y_high),
                        under,
                        Clock::read(top ? at : at + plane),
                        w.heated && x == 0 ? w.k.power : 0.0,
                        surface ? sides + (z == 0) + top : 0};
  };
  auto const write = [&](neighborhood const& a) {
    double const value = advanced_as<Real>(a, w.k);
    *out = value;
    found.tiny |= is_tiny(value, w.tiny);
    if (a.exposed != 0) found.radiated += a.exposed * fourth_power(a.c);
    out += plane;
  };
  int z = first;
  if constexpr (Clock::reads_ahead) {
    for (; z + 1 < last; z += 2, p += 2 * plane) {
      auto const a = read(z, p, below, here);
      auto const b = read(z + 1, p + plane, here, a.z_high);
      write(a);
      write(b);
      below = b.c;
      here = b.z_high;
    }
  }
#ifdef __CUDACC__
  // Two at a time, since more take more registers than leave the device full of threads.
  constexpr int at_once = Clock::reads_ahead ? 1 : 2;
#pragma unroll at_once
#endif
  for (; z < last; ++z, p += plane) {
    auto const a = read(z, p, below, here);
    write(a);
    below = here;
    here = a.z_high;
  }
  return found;
}

/// Apart: the registers that it needs would leave fewer threads at a time for all others. By value: of what a call refers to, kernels that are not ours to declare
/// have each thread make a copy before anything else.
template <class Clock>
HEAT3D_APART swept walk_with_care(sweep_work w, int x, int y, int first, int last, bool surface) {
  return walk_column<flushing, Clock>(w, x, y, first, last, surface);
}

/// Inner cells: those of one thread of a tile.
template <class Clock>
HEAT3D_CELL swept sweep_tile(sweep_work const& w, basic_tile_flags<Clock> const& flags,
                             tile_place const& tile, int thread_x, int thread_y) {
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
    found = flags.need_care(w, tile) ? walk_with_care<Clock>(w, x, y, first, last, surface)
                                     : walk_column<double, Clock>(w, x, y, first, last, surface);
    if (found.tiny) {
      flags.note_tiny(w, tile,
                      {thread_x == 0, thread_x + 1 == t.width, thread_y == 0, thread_y + 1 == t.height});
    }
  }
  return found;
}

/// Where a cell is, by its number in a box, x fastest. A face has fewer than 2^32 cells, and narrow divisions are quick.
struct cell_place {
  std::int64_t x, y, z;
};
HEAT3D_CELL cell_place place_in(box const& part, std::uint32_t i) {
  auto const e0 = static_cast<std::uint32_t>(part.high[0] - part.low[0]);
  auto const e1 = static_cast<std::uint32_t>(part.high[1] - part.low[1]);
  auto const row = i / e0;
  return {part.low[0] + i % e0, part.low[1] + row % e1, part.low[2] + row / e1};
}

/// Any cell: its new value, and what it radiates.
struct swept_cell {
  double value, radiated;
};
template <class Clock>
HEAT3D_CELL swept_cell sweep_cell_at(sweep_work const& w, basic_tile_flags<Clock> const& flags,
                                     cell_place const& at) {
  auto const a = neighbors_of(w, at.x, at.y, at.z);
  double const value = advanced_cell(a, w);
  w.to[position(w.extent, at.x, at.y, at.z)] = value;
  if (is_tiny(value, w.tiny)) flags.note_tiny_cell(w, at.x, at.y, at.z);
  return {value, a.exposed * fourth_power(a.c)};
}

/// A cell of the part, by its number: what it radiates.
HEAT3D_CELL double sweep_cell(sweep_work const& w, tile_flags const& flags, std::uint32_t i) {
  return sweep_cell_at(w, flags, place_in(w.part, i)).radiated;
}

/// Where one of all cells at faces with a neighbour is, by its number.
HEAT3D_CELL cell_place place_at_faces(boundary_work const& boundary, std::uint32_t i) {
  int part = 0;
  while (i >= boundary.ends[part]) ++part;
  return place_in(boundary.parts[part], i - (part == 0 ? 0 : boundary.ends[part - 1]));
}

/// Puts the value of such a cell into the planes that it is in.
HEAT3D_CELL void put_into_planes(boundary_work const& boundary, triple const& extent, cell_place const& at,
                                 double value) {
  auto const [nx, ny, nz] = extent;
  auto const put = [&](face f, bool is_there, std::int64_t in_plane) {
    if (is_there && boundary.planes[f] != nullptr) boundary.planes[f][in_plane] = value;
  };
  put(left, at.x == 0, at.y + ny * at.z);
  put(right, at.x + 1 == nx, at.y + ny * at.z);
  put(down, at.y == 0, at.x + nx * at.z);
  put(up, at.y + 1 == ny, at.x + nx * at.z);
  put(front, at.z == 0, at.x + nx * at.y);
  put(back, at.z + 1 == nz, at.x + nx * at.y);
}

/// One of these cells: what it radiates. Its new value goes to the planes that are sent in the next step, too.
template <class Clock>
HEAT3D_CELL double sweep_boundary_cell(sweep_work const& w, boundary_work const& boundary,
                                       basic_tile_flags<Clock> const& flags, std::uint32_t i) {
  if (w.counts && i == 0) flags.clock.count(w.parity);
  auto const at = place_at_faces(boundary, i);
  auto const [value, radiated] = sweep_cell_at(w, flags, at);
  put_into_planes(boundary, w.extent, at, value);
  return radiated;
}

}  // namespace heat3d
