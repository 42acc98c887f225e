#pragma once

/// Event descriptors for bells (base/bell_events.hpp) that ranks of one host, or machine, ring and sleep on.

#include <cstdint>

#include "bootstrap/bootstrap.hpp"

namespace atl::bootstrap {

/// Collective over the machine: each rank gets one, and has those of all others open, by consecutive numbers in the
/// order of local ranks.
/// @return  the number of this rank's own; -1 on all ranks if that cannot be
std::int32_t share_bell_events(channel& with, sharers who);

}  // namespace atl::bootstrap
