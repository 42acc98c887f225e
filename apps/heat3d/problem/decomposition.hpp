#pragma once

/// Which rank owns which cells.

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "problem/geometry.hpp"

namespace heat3d {

/// Ranks per direction.
using process_grid = std::array<int, 3>;

/// "4x2x1": of a process grid, or of the extents of a domain.
template <class Number>
std::string text(std::array<Number, 3> const& three) {
  return std::to_string(three[0]) + "x" + std::to_string(three[1]) + "x" + std::to_string(three[2]);
}

/// The cells of one rank, and who owns the cells beyond each face.
struct block {
  box cells;                           ///< in global coordinates
  std::array<int, face_n> neighbor{};  ///< rank beyond each face, -1 on the outer surface of the domain

  triple extent() const { return cells.extent(); }
  bool has_neighbor(face f) const { return neighbor[f] >= 0; }
  int neighbor_n() const;
};

/// Process grid for a number of ranks, the same everywhere and the same as in the reference program: nx is
/// the first divisor of n from the cube root upwards,
/// ny the first divisor of n / nx from its square root upwards.
process_grid default_grid(int ranks);

/// That grid or, where the domain cannot be divided by it, the most cubic one by which it can; that again if there is none.
process_grid choose_grid(triple const& domain, int ranks);

/// Says what is wrong with dividing the domain by this grid, and what to try; nothing when it is fine.
std::optional<std::string> grid_problem(triple const& domain, process_grid const& grid, int ranks);

/// Block of a rank; x varies fastest among ranks. Widths in one direction differ by at most one cell, so that
/// no rank is left empty as long as there are at least as many cells as ranks.
block make_block(triple const& domain, process_grid const& grid, int rank);

/// Cuts one layer of cells off `rest` at each face that `at` says. Returns the layers, which are disjoint and
/// not empty; a box one cell thick goes to the first of two opposite faces whole.
std::vector<box> peel(box& rest, std::array<bool, face_n> const& at);

/// Cells of a block (in local coordinates) that can be computed before any halo has arrived: all but those
/// next to a neighbouring rank. Cells at the outer surface of the domain are among them.
box inner_box(block const& b);

/// Disjoint boxes (local coordinates) that together with inner_box() tile the block. At most six.
std::vector<box> surface_boxes(block const& b);

}  // namespace heat3d
