#pragma once

/// Tiles that stay where they are for many steps: each in memory that a block of threads has for itself, twice, by the parity of the step.
/// Of a step only the cells at a tile's sides pass through the field, since others read them.

#include <algorithm>
#include <cstdint>

#include "backends/device_cells.hpp"

namespace heat3d {

/// A cell beyond a side of a tile: where it is in that memory, and in the field.
struct side_cell {
  std::uint32_t kept, field;
};

/// A tile and where its cells are in that memory: x fastest, with room for those beyond each side.
struct kept_tile {
  tile_place place;
  int low[3];      ///< its first cell, in the block of cells
  int n[3];        ///< its cells
  int extent[3];   ///< of the block
  int row, plane;  ///< from a cell to the next one in y and in z

  HEAT3D_CELL kept_tile(sweep_work const& w, tiling const& t, std::uint32_t number)
      : place(tile_place::numbered(static_cast<int>(number), t)),
        row(t.width + 2),
        plane(row * (t.height + 2)) {
    int const sizes[3] = {t.width, t.height, t.depth};
    int const numbers[3] = {place.x, place.y, place.z};
    for (int d = 0; d < 3; ++d) {
      int const from = numbers[d] * sizes[d];
      int const rest = static_cast<int>(w.part.high[d] - w.part.low[d]) - from;
      low[d] = static_cast<int>(w.part.low[d]) + from;
      n[d] = rest < sizes[d] ? rest : sizes[d];
      extent[d] = static_cast<int>(w.extent[d]);
    }
  }

  HEAT3D_CELL int kept(int x, int y, int z) const { return x + 1 + row * (y + 1) + plane * (z + 1); }
  HEAT3D_CELL int in_field(int x, int y, int z) const {
    return low[0] + x + extent[0] * (low[1] + y + extent[1] * (low[2] + z));
  }
  HEAT3D_CELL int field_plane() const { return extent[0] * extent[1]; }
  /// Is there a cell beyond that side? What is not in the part is at a face: others compute it.
  HEAT3D_CELL bool has_side(int d, bool high) const { return high ? low[d] + n[d] < extent[d] : low[d] > 0; }

  HEAT3D_CELL std::uint32_t side_n() const {
    int cells = 0;
    for (int d = 0; d < 3; ++d)
      cells += (has_side(d, false) + has_side(d, true)) * n[d == 0 ? 1 : 0] * n[d == 2 ? 1 : 2];
    return static_cast<std::uint32_t>(cells);
  }
  HEAT3D_CELL side_cell side(std::uint32_t number) const {
    int at = static_cast<int>(number);
    for (int d = 0; d < 3; ++d) {
      int const i = d == 0 ? 1 : 0;
      int const j = d == 2 ? 1 : 2;
      for (bool const high : {false, true}) {
        if (!has_side(d, high)) continue;
        if (at >= n[i] * n[j]) {
          at -= n[i] * n[j];
          continue;
        }
        int cell[3];
        cell[d] = high ? n[d] : -1;
        cell[i] = at % n[i];
        cell[j] = at / n[i];
        return {static_cast<std::uint32_t>(kept(cell[0], cell[1], cell[2])),
                static_cast<std::uint32_t>(in_field(cell[0], cell[1], cell[2]))};
      }
    }
    return {};
  }
};

/// Doubles that a tile takes, once; and all that is kept for it, twice and with its sides.
constexpr std::int64_t cells_kept(tiling const& t) {
  return std::int64_t{t.width + 2} * (t.height + 2) * (t.depth + 2);
}
constexpr std::int64_t most_sides(tiling const& t) {
  return std::int64_t{2} * (t.width * t.height + (t.width + t.height) * t.depth);
}
constexpr std::int64_t bytes_kept(tiling const& t) {
  return 2 * cells_kept(t) * std::int64_t{sizeof(double)} + most_sides(t) * std::int64_t{sizeof(side_cell)};
}

/// How long a step takes, in warps that go up by a cell: measured on an H100, at 100^3 cells. Few warps wait for each operation as long as somewhat more do. Cells beyond sides
/// in x come from a line of memory each.
constexpr double kept_cost(tiling const& t) {
  constexpr std::int64_t warp = 32;
  constexpr std::int64_t least_busy = 14;
  auto const warps = std::max(pieces_for(std::int64_t{t.width} * t.height, warp), least_busy);
  return static_cast<double>(warps * t.depth) + t.height * t.depth / 16.0 +
         (t.width * t.height + t.width * t.depth) / 128.0;
}

/// At most `tile_n` tiles, whose columns are no more than `threads`, and for each of which no more than `bytes` are kept: as makes a step
/// the shortest. None if there are none.
inline tiling kept_tiling(box const& inner, int threads, std::int64_t tile_n, std::int64_t bytes) {
  tiling best{};
  if (inner.is_empty() || tile_n < 1) return best;
  auto const e = inner.extent();
  double least = 0;
  auto const part_of = [](std::int64_t n, std::int64_t parts) {
    return static_cast<int>(pieces_for(n, parts));
  };
  for (std::int64_t n_x = 1; n_x <= std::min(tile_n, e[0]); ++n_x) {
    for (std::int64_t n_y = 1; n_y <= std::min(tile_n / n_x, e[1]); ++n_y) {
      int const width = part_of(e[0], n_x);
      int const height = part_of(e[1], n_y);
      if (std::int64_t{width} * height > threads) continue;
      tiling const t =
          cut_into_tiles(inner, width, height, part_of(e[2], std::min(tile_n / (n_x * n_y), e[2])));
      if (bytes_kept(t) > bytes) continue;
      auto const cost = kept_cost(t);
      if (best.tile_n() == 0 || cost < least) {
        least = cost;
        best = t;
      }
    }
  }
  return best;
}

/// A column of such a tile: of one thread, in all steps.
struct kept_column {
  int at;                            ///< its first cell
  int x_low, x_high, y_low, y_high;  ///< from a cell to its neighbours; a missing one is the cell itself
  int n;                             ///< cells
  int exposed;                       ///< faces of each of them
  bool bottom, top;                  ///< the first and the last one have another
  tile_sides sides;                  ///< of the tile that it is at: others read all of its cells
  int in_field;                      ///< the first one
  double power;

  kept_column() = default;
  HEAT3D_CELL kept_column(sweep_work const& w, kept_tile const& tile, int x, int y)
      : at(tile.kept(x, y, 0)),
        n(tile.n[2]),
        sides{x == 0, x + 1 == tile.n[0], y == 0, y + 1 == tile.n[1]},
        in_field(tile.in_field(x, y, 0)) {
    int const gx = tile.low[0] + x;
    int const gy = tile.low[1] + y;
    x_low = gx > 0 ? -1 : 0;
    x_high = gx + 1 < tile.extent[0] ? 1 : 0;
    y_low = gy > 0 ? -tile.row : 0;
    y_high = gy + 1 < tile.extent[1] ? tile.row : 0;
    exposed = (x_low == 0) + (x_high == 0) + (y_low == 0) + (y_high == 0);
    bottom = !tile.has_side(2, false);
    top = !tile.has_side(2, true);
    power = w.heated && gx == 0 ? w.k.power : 0.0;
  }

  HEAT3D_CELL bool at_side() const { return sides.x_low || sides.x_high || sides.y_low || sides.y_high; }
  /// A missing neighbour in z is a copy of the cell.
  HEAT3D_CELL void close_ends(kept_tile const& tile, double* cells) const {
    double* const first = cells + at;
    double* const last = first + (n - 1) * tile.plane;
    if (bottom) first[-tile.plane] = *first;
    if (top) last[tile.plane] = *last;
  }
};

/// One step of a column. Cells that others read are written into the field, too.
template <class Real>
HEAT3D_CELL swept walk_kept(sweep_work const& w, kept_tile const& tile, kept_column const& column,
                            double const* from, double* to) {
  struct neighbors {
    double x_low, x_high, y_low, y_high;
  };
  auto const read = [&](double const* at) {
    return neighbors{at[column.x_low], at[column.x_high], at[column.y_low], at[column.y_high]};
  };
  double const* p = from + column.at;
  double* out = to + column.at;
  double* shared = w.to + column.in_field;
  double below = p[-tile.plane];
  double here = *p;
  auto beside = read(p);
  swept found;
#ifdef __CUDACC__
#pragma unroll 2
#endif
  for (int left = column.n - 1; left >= 0; --left) {
    // What the next cell needs is asked for before this one is written.
    p += tile.plane;
    double const above = *p;
    auto const beside_next = left > 0 ? read(p) : neighbors{};
    bool const first = left == column.n - 1;
    int const exposed = column.exposed + (first ? column.bottom : 0) + (left == 0 ? column.top : 0);
    Real const c{here};
    Real rate = conduction(c, Real{beside.x_low}, Real{beside.x_high}, Real{beside.y_low},
                           Real{beside.y_high}, Real{below}, Real{above}, Real{w.k.q});
    if (exposed != 0) {
      rate = with_outside(rate, c, Real{column.power}, Real{w.k.sigma * exposed});
      found.radiated += exposed * fourth_power(here);
    }
    double const value = std::bit_cast<double>(advanced(c, rate, Real{w.k.dt}));
    *out = value;
    if (column.at_side() || first || left == 0) *shared = value;
    found.tiny |= is_tiny(value, w.tiny);
    out += tile.plane;
    shared += tile.field_plane();
    below = here;
    here = above;
    beside = beside_next;
  }
  column.close_ends(tile, to);
  return found;
}

/// Apart, as walk_with_care(); by value, since what is referred to does not stay in registers.
HEAT3D_APART swept walk_kept_with_care(sweep_work const& w, kept_tile tile, kept_column column,
                                       double const* from, double* to) {
  return walk_kept<flushing>(w, tile, column, from, to);
}

}  // namespace heat3d
