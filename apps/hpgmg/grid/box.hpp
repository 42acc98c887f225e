#pragma once

/// Where cells of a box are in memory.

#include <cstddef>

namespace hpgmg {

/// Cells of a cubic box: element (i, j, k) is at p[i + row*j + plane*k], where p is a vector's cell (0, 0,
/// 0); ghosts have negative indices, or such from n on.
struct box_layout {
  int n = 0;       ///< cells per dimension
  int planes = 0;  ///< of them that loops go over; n but for parts of a box
  int ghost = 0;   ///< layers around them
  std::ptrdiff_t row = 0;
  std::ptrdiff_t plane = 0;

  constexpr box_layout() = default;
  constexpr box_layout(int cells, int ghosts) : n(cells), planes(cells), ghost(ghosts) {
    row = (n + 2 * ghost + 3) / 4 * 4;
    plane = row * (n + 2 * ghost);
  }
  /// Doubles of one vector, ghosts and padding included.
  [[nodiscard]] std::ptrdiff_t volume() const { return (lead() + plane * (n + 2 * ghost) + 7) / 8 * 8; }
  /// Of cell (0, 0, 0) in a vector's memory.
  [[nodiscard]] std::ptrdiff_t origin() const { return lead() + at(ghost, ghost, ghost); }
  [[nodiscard]] std::ptrdiff_t at(int i, int j, int k) const { return i + row * j + plane * k; }
  /// Unused doubles at the beginning, so that cell (0, 0, 0) begins a cache line: a tenth faster.
  [[nodiscard]] std::ptrdiff_t lead() const { return 7 - (at(ghost, ghost, ghost) + 7) % 8; }
};

}  // namespace hpgmg
