#pragma once

/// Communication packed by hand: one message to each peer, put into a buffer there, and a flag.

#include <memory>

#include "movers/runtime.hpp"

namespace hpgmg {

/// Collective over the world.
std::unique_ptr<mover> make_bulk_mover(plan const& moves);

}  // namespace hpgmg
