#pragma once

/// Will the fields fit? Asked before they are touched, because a process that takes too much is killed
/// without a word.

#include <optional>
#include <string>

#include "exchanges/communicator.hpp"

namespace heat3d {

/// On rank 0: says what is missing when the fields of this host's ranks need more memory than is free; those
/// on devices need the initial values only. At the end the final ones take the place of these, and rank 0 has `gathered` bytes
/// besides. Collective.
std::optional<std::string> memory_problem(triple const& domain, process_grid const& grid, communicator& ranks,
                                          bool fields_on_device, double gathered);

/// How many different devices the ranks have, on rank 0. Collective.
int device_n(device_memory const& mine, communicator& ranks);

}  // namespace heat3d
