#pragma once

/// What `atoll run --show` prints instead of starting anything.

#include <cstdio>
#include <string>
#include <vector>

#include "run/options.hpp"

namespace atl::tools {

/// Prints the environment that a rank is given (what was asked for, and with -v all that concerns the start)
/// and the command.
void show_command(run_options const& options);

/// Prints a command line of another launcher, with what was asked for of the environment.
void show_words(std::vector<std::string> const& words, run_options const& options, std::FILE* to = stdout);

}  // namespace atl::tools
