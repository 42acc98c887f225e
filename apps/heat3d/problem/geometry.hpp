#pragma once

/// Boxes of cells and their six faces. Shared by everything; knows nothing of ranks or memory.

#include <array>
#include <cstdint>

namespace heat3d {

/// One number per direction x, y, z. Counts of cells are 64 bits wide: a cube of edge 1291 overflows 32.
using triple = std::array<std::int64_t, 3>;

/// Cells with low <= index < high in each direction. Empty when a low end reaches its high end.
struct box {
  triple low{0, 0, 0};
  triple high{0, 0, 0};

  triple extent() const { return {high[0] - low[0], high[1] - low[1], high[2] - low[2]}; }
  bool is_empty() const { return low[0] >= high[0] || low[1] >= high[1] || low[2] >= high[2]; }
  std::int64_t cell_n() const {
    auto const e = extent();
    return is_empty() ? 0 : e[0] * e[1] * e[2];
  }
  friend bool operator==(box const&, box const&) = default;
};

/// The faces of a box: low and high x, low and high y, low and high z.
enum face : int { left, right, down, up, front, back };
inline constexpr int face_n = 6;

/// Order in which faces are packed and sent: low sides first, then high sides.
inline constexpr std::array<face, face_n> send_order = {left, down, front, right, up, back};

/// Direction that a face is normal to: 0 for x, 1 for y, 2 for z.
inline constexpr int axis_of(face f) { return static_cast<int>(f) / 2; }
inline constexpr bool is_high(face f) { return static_cast<int>(f) % 2 == 1; }
/// The face of the neighbour that touches ours: what leaves by `right` arrives there as `left`.
inline constexpr face opposite(face f) { return static_cast<face>(static_cast<int>(f) ^ 1); }

/// Cells on a face of a box with these extents. A halo buffer holds them with the first remaining direction
/// fastest: (y, z) on left and right, (x, z) on down and up, (x, y) on front and back.
inline constexpr std::int64_t face_cells(triple const& extent, face f) {
  return axis_of(f) == 0   ? extent[1] * extent[2]
         : axis_of(f) == 1 ? extent[0] * extent[2]
                           : extent[0] * extent[1];
}

/// Position of a cell in arrays of these extents: x fastest.
inline constexpr std::int64_t position(triple const& extent, std::int64_t x, std::int64_t y, std::int64_t z) {
  return x + extent[0] * (y + extent[1] * z);
}

}  // namespace heat3d
