#pragma once

/// Which grids a problem has, how they are cut into boxes, and who owns them.
/// Pure functions of the command line.

#include <array>
#include <string_view>
#include <vector>

namespace hpgmg {

/// One grid: cubes of cells, cut into cubic boxes.
struct grid_shape {
  int cells = 0;  ///< of the domain, per dimension
  int box = 0;    ///< of a box, per dimension
  int boxes = 0;  ///< per dimension
  int ranks = 1;  ///< over which the boxes are spread
  bool operator==(grid_shape const&) const = default;
};

/// The largest number of boxes per dimension that gives each rank no more boxes than wanted, on average, and
/// that coarsens well: the odd part of the number of cells is at most 11.
int boxes_per_side(int box, int boxes_per_rank, int ranks);

/// The grid and all coarser ones. `radius`: cells that the operator looks to each side.
std::vector<grid_shape> plan_levels(grid_shape finest, int radius, bool periodic);

enum class box_order { morton, lexicographic, bisection, primes };

/// The owner of each box; boxes are numbered i + boxes * (j + boxes * k).
std::vector<int> assign_boxes(int boxes, int ranks, box_order order);

using box_index = std::array<int, 3>;
inline int box_id(box_index at, int boxes) { return at[0] + boxes * (at[1] + boxes * at[2]); }
inline box_index box_at(int id, int boxes) { return {id % boxes, id / boxes % boxes, id / boxes / boxes}; }

}  // namespace hpgmg
