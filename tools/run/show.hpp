#pragma once

/// What `atoll run --show` prints instead of starting anything.

#include "run/options.hpp"

namespace atl::tools {

/// Prints the environment that a rank is given (what was asked for, and with -v all that concerns the start)
/// and the command.
void show_command(run_options const& options);

}  // namespace atl::tools
