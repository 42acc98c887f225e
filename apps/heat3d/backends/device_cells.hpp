#pragma once

/// What one thread of a device does in a sweep, whoever started it: CUDA's kernels or Kokkos'.

#include <algorithm>
#include <cstdint>

#include "problem/stencil.hpp"

namespace heat3d {

/// What the cells of one thread radiate, in units of sigma.
struct radiation {
  double sum = 0;
  bool exposed = false;  ///< some cell is on the outer surface
};

/// Cells that a thread walks up at a time, when `rows` rows of a block's threads are spread over this many
/// multiprocessors. Long walks save reads of the planes below and above; short ones fill the device.
inline int column_chunk(std::int64_t rows, int processors) {
  return static_cast<int>(std::clamp<std::int64_t>(rows / (8 * processors), 4, 32));
}

/// Reads of the present field and halos, which no kernel that runs at the same time writes to.
HEAT3D_CELL double load_once(double const* p) {
#ifdef __CUDA_ARCH__
  return __ldg(p);
#else
  return *p;
#endif
}

/// Inner cells: those of one column in the walk with this number. The column stays in registers.
HEAT3D_CELL radiation sweep_column(sweep_work const& w, std::int64_t x, std::int64_t y, std::int64_t walk,
                                   int chunk) {
  auto const nx = w.extent[0];
  auto const ny = w.extent[1];
  auto const plane = nx * ny;
  auto const first = w.part.low[2] + walk * chunk;
  auto const last = first + chunk < w.part.high[2] ? first + chunk : w.part.high[2];
  // A missing neighbour is the cell itself.
  std::int64_t const x_low = x > 0 ? -1 : 0;
  std::int64_t const x_high = x + 1 < nx ? 1 : 0;
  std::int64_t const y_low = y > 0 ? -nx : 0;
  std::int64_t const y_high = y + 1 < ny ? nx : 0;
  int const sides = (x_low == 0) + (x_high == 0) + (y_low == 0) + (y_high == 0);
  auto const at = position(w.extent, x, y, first);
  double const* __restrict__ p = w.from + at;
  double* __restrict__ out = w.to + at;
  neighborhood a{};
  a.power = w.heated && x == 0 ? w.k.power : 0.0;
  double below = load_once(first > 0 ? p - plane : p);
  double here = load_once(p);
  radiation found;
#ifdef __CUDACC__
#pragma unroll 4
#endif
  for (auto z = first; z < last; ++z) {
    bool const top = z + 1 == w.extent[2];
    double const above = load_once(top ? p : p + plane);
    a.c = here;
    a.x_low = load_once(p + x_low);
    a.x_high = load_once(p + x_high);
    a.y_low = load_once(p + y_low);
    a.y_high = load_once(p + y_high);
    a.z_low = below;
    a.z_high = above;
    a.exposed = sides + (z == 0) + top;
    *out = advanced_cell(a, w);
    if (a.exposed != 0) {
      found.sum += a.exposed * fourth_power(here);
      found.exposed = true;
    }
    below = here;
    here = above;
    p += plane;
    out += plane;
  }
  return found;
}

/// Any cell, by its number in the part, x fastest. A face has fewer than 2^32 cells,
/// and narrow divisions are quick.
HEAT3D_CELL radiation sweep_cell(sweep_work const& w, std::uint32_t i) {
  auto const e0 = static_cast<std::uint32_t>(w.part.high[0] - w.part.low[0]);
  auto const e1 = static_cast<std::uint32_t>(w.part.high[1] - w.part.low[1]);
  auto const row = i / e0;
  auto const x = w.part.low[0] + i % e0;
  auto const y = w.part.low[1] + row % e1;
  auto const z = w.part.low[2] + row / e1;
  auto const a = neighbors_of(w, x, y, z);
  w.to[position(w.extent, x, y, z)] = advanced_cell(a, w);
  return {a.exposed * fourth_power(a.c), a.exposed != 0};
}

}  // namespace heat3d
