#pragma once

/// The boxes of a level, and memory for what travels between levels, as arrays over the cells of a grid.

#include <atoll/array.hpp>
#include <vector>

#include "grid/level.hpp"

namespace hpgmg {

using cell_array = atl::array<double, 3>;

/// Vector 0 of all own boxes, with so many of their ghosts.
std::vector<cell_array> arrays_of(level const& l, int ghosts);
/// What travels of boxes of a fine level, at n cells per box and dimension:
/// of its own grid or of the coarse one.
std::vector<cell_array> arrays_of(std::vector<parcel> const& list, arena const& memory, level const& fine,
                                  int n);

}  // namespace hpgmg
