#pragma once

/// The words of `atoll run`: which options there are, and what the user wrote for each.

#include <optional>
#include <string>
#include <vector>

namespace atl::tools {

/// Values as they were written; run_options has what they mean.
struct command_line {
  std::string ranks;
  std::string nodes;
  std::string hosts;
  std::string hostfile;
  std::string launcher;
  std::string timeout;
  std::vector<std::string> environment;
  std::string heap;
  std::string bind = "auto";
  std::string input = "0";
  std::string servers;
  std::vector<std::string> words;  ///< the program and its arguments
  bool tag = false;
  bool terminal = false;
  bool show = false;
  bool facts = false;
  bool backtrace = false;  ///< without effect, like the next
  bool localhost = false;
  int verbosity = 0;
};

/// Reads the options. Empty when help was asked for, which has been printed; throws startup_error
/// for what no option is.
std::optional<command_line> read_command_line(int argc, char** argv);

}  // namespace atl::tools
