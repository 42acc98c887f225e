#pragma once

/// Programs that this one starts and listens to.

#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace atl::tools {

struct command_line {
  std::vector<std::string> words;  ///< the first is the program, searched in PATH if it has no slash
  std::vector<std::pair<std::string, std::string>> environment;  ///< added to ours
  bool quiet = false;                                            ///< its standard error goes nowhere
};

/// Runs it and calls `take` for every line of its standard output. Returns its exit status, 128 + the
/// signal's number if one ended it, or 127 if it cannot be started.
int listen(command_line const& command, std::function<void(std::string const&)> const& take);

}  // namespace atl::tools
