#pragma once

/// Communication between arrays: the program says which arrays there are, and the library moves what they
/// have in common.

#include <memory>

#include "movers/runtime.hpp"

namespace hpgmg {

// Collective over the world.

std::unique_ptr<mover> make_array_exchange(level const& l, ghost_shape shape);
std::unique_ptr<mover> make_array_restriction(level const& fine, level const& coarse,
                                              restriction_plan const& what);
std::unique_ptr<mover> make_array_interpolation(level const& fine, interpolation_plan const& what);

}  // namespace hpgmg
