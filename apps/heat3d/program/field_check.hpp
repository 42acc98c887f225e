#pragma once

/// Is every cell of the final field right?

#include <vector>

#include "backends/backend.hpp"
#include "exchanges/communicator.hpp"
#include "problem/checks.hpp"

namespace heat3d {

/// Checks of the final field: exact values and bounds where they are known. Collective;
/// the same on all ranks.
std::vector<check_result> check_field(problem const& p, block const& own, backend const& engine,
                                      backend::extremes const& found, communicator& ranks);

}  // namespace heat3d
