#pragma once

/// Tiles in memory that a block of threads has for itself: where their cells are, and which tiles to take. The block goes up through
/// its tile, a plane at a time. The lowest planes stay there for many steps, as many as there is room for; of these only the cells at
/// the tile's sides pass through the field, since others read them. The other planes come from the field some planes ahead of the walk,
/// and go back to it.
///
/// A small tile is there twice, by the parity of the step: then new values overwrite none that others still read, and threads
/// wait for each other once in a step instead of once a plane.

#include <algorithm>
#include <cstdint>

#include "backends/tiles.hpp"

namespace heat3d {

/// What comes from the field is asked for so many planes before it is read: memory is far away. Fewer and more are no faster.
inline constexpr int planes_ahead = 5;
/// Planes that pass take turns in so many places.
inline constexpr int passing_places = planes_ahead + 1;

/// Where a cell of a plane is in its place in memory of the block, x fastest with room for those beyond each side, and in the field.
struct plane_cell {
  std::int32_t kept, field;
};

/// A tile, and where its planes are.
struct kept_tile {
  tile_place place;
  int low[3];      ///< its first cell, in the block of cells
  int n[3];        ///< its cells
  int extent[3];   ///< of the block
  int row, plane;  ///< from a cell in memory to the next one in y, and in the next place
  int kept;        ///< planes that stay

  /// In so many places for planes.
  HEAT3D_CELL kept_tile(sweep_work const& w, tiling const& t, std::uint32_t number, int places)
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
    kept = n[2] <= places ? n[2] : places - passing_places;
  }

  /// Of a cell in the lowest plane.
  HEAT3D_CELL plane_cell cell(int x, int y) const {
    return {x + 1 + row * (y + 1), low[0] + x + extent[0] * (low[1] + y + extent[1] * low[2])};
  }
  HEAT3D_CELL int field_plane() const { return extent[0] * extent[1]; }
  /// Is there a cell beyond that side? What is not in the part is at a face: others compute it.
  HEAT3D_CELL bool has_side(int d, bool high) const { return high ? low[d] + n[d] < extent[d] : low[d] > 0; }
  /// Stacks of so many columns, next to each other in y.
  HEAT3D_CELL int stack_n(int columns) const { return n[0] * ((n[1] + columns - 1) / columns); }

  /// From the place of a plane to that of the one above.
  HEAT3D_CELL int place_above(int at) const {
    int const next = at + plane;
    return next == (kept + passing_places) * plane ? kept * plane : next;
  }

  /// Cells of a plane beyond sides in x and y.
  HEAT3D_CELL int side_n() const {
    return (has_side(0, false) + has_side(0, true)) * n[1] + (has_side(1, false) + has_side(1, true)) * n[0];
  }
  HEAT3D_CELL plane_cell side(int number) const {
    // Those in y first: they are next to each other.
    for (int d = 1; d >= 0; --d) {
      for (bool const high : {false, true}) {
        if (!has_side(d, high)) continue;
        if (number < n[1 - d]) {
          int const beyond = high ? n[d] : -1;
          return d == 0 ? cell(beyond, number) : cell(number, beyond);
        }
        number -= n[1 - d];
      }
    }
    return {};
  }
};

/// Two copies are for small tiles, which need no second column.
inline constexpr kept_way kept_ways[] = {{1, 2}, {1, 1}, {2, 1}};

/// Doubles of a place for a plane.
constexpr std::int64_t plane_cells(tiling const& t) { return std::int64_t{t.width + 2} * (t.height + 2); }
constexpr std::int64_t bytes_kept(tiling const& t, int places, int copies) {
  return copies * places * plane_cells(t) * std::int64_t{sizeof(double)};
}
/// Places for planes of a tile in so many bytes: at most one for each; 0: there is no room for enough.
constexpr int places_in(tiling const& t, std::int64_t bytes, int copies) {
  auto const room = bytes / bytes_kept(t, 1, copies);
  if (room >= t.depth) return t.depth;
  return copies == 1 && room > passing_places ? static_cast<int>(room) : 0;
}
/// Threads that a tile takes: one for so many columns, and for each cell of a plane beyond a side.
constexpr int threads_for(tiling const& t, int columns) {
  return std::max(t.width * ((t.height + columns - 1) / columns), 2 * (t.width + t.height));
}

/// How long a step takes, in warps that go up by a cell: measured on an H100. Few warps wait for each operation as long as somewhat more do, and a wait of
/// all in each plane costs a quarter. Cells beyond sides in x come from a line of memory each.
inline double kept_cost(tiling const& t, kept_way const& way) {
  constexpr std::int64_t warp = 32;
  constexpr std::int64_t least_busy = 14;
  constexpr double waits = 1.25;
  auto const warps = std::max(pieces_for(threads_for(t, way.columns), warp), least_busy / way.columns);
  return static_cast<double>(warps * way.columns * t.depth) * (way.copies == 1 ? waits : 1) +
         t.height * t.depth / 16.0 + (t.width * t.height + t.width * t.depth) / 128.0;
}

/// Tiles for blocks of at most `threads` threads, of which `blocks` are there at once, with so many bytes each: as make a step the shortest. None if
/// there are none.
inline tiling kept_tiling(box const& inner, kept_way const& way, int threads, std::int64_t blocks,
                          std::int64_t bytes) {
  tiling best{};
  if (inner.is_empty() || blocks < 1) return best;
  auto const e = inner.extent();
  double least = 0;
  auto const part_of = [](std::int64_t n, std::int64_t parts) {
    return static_cast<int>(pieces_for(n, parts));
  };
  for (std::int64_t n_x = 1; n_x <= std::min(blocks, e[0]); ++n_x) {
    for (std::int64_t n_y = 1; n_y <= std::min(blocks / n_x, e[1]); ++n_y) {
      auto const n_z = std::min(blocks / (n_x * n_y), e[2]);
      tiling const t = cut_into_tiles(inner, part_of(e[0], n_x), part_of(e[1], n_y), part_of(e[2], n_z));
      if (threads_for(t, way.columns) > threads || places_in(t, bytes, way.copies) == 0) continue;
      auto const cost = kept_cost(t, way);
      if (best.tile_n() == 0 || cost < least) {
        least = cost;
        best = t;
      }
    }
  }
  return best;
}

}  // namespace heat3d
