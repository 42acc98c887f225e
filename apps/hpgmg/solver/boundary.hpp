#pragma once

/// Ghosts outside the domain under u = 0 on its faces: extrapolated from the cells inside.

#include "grid/level.hpp"

namespace hpgmg {

/// How, by the order of the extrapolation. Small boxes fall back to the lower one that they have cells for.
enum class extrapolation { linear, quadratic, quartic };

/// Fills the ghosts of a vector beyond the domain, as far as they are in the shape. Ghosts that other boxes
/// own have been exchanged. Does nothing on periodic domains.
void fill_boundary(level const& l, int vector, extrapolation order, ghost_shape shape);

/// Continues the face coefficients of direction d beyond the faces that they are not normal to.
void extrapolate_beta(level const& l, int d);

}  // namespace hpgmg
