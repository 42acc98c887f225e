#pragma once

/// Runs the drawing scripts. Pictures are made by matplotlib, which may be installed for one Python
/// interpreter of the machine and not for another, so the first that has it is looked for.

#include <string>
#include <string_view>
#include <vector>

namespace atl::plotting {

/// No interpreter, no script; the text says what to install.
struct problem {
  std::string text;
};

/// Path of an interpreter that has matplotlib: $ATOLL_PYTHON, python3 on PATH, then the system's.
/// Throws problem.
std::string interpreter();

/// Path of a script in ../share/atoll, seen from the running program. Throws problem.
std::string script(std::string_view name);

/// Runs the script with these arguments and waits. `input` is its standard input, -1 for none. Its messages
/// go to standard error.
/// @return  exit status, 128 + signal number when it was killed.
int run(std::string const& interpreter_path, std::string const& script_path,
        std::vector<std::string> const& arguments, int input = -1);

}  // namespace atl::plotting
