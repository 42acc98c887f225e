#pragma once

/// Starting one rank.

#include <string>
#include <vector>

#include "base/os/unique_fd.hpp"
#include "bootstrap/board.hpp"
#include "run/options.hpp"

namespace atl::tools {

/// What a rank is started with. Descriptors stay the caller's.
struct rank_start {
  int rank = 0;
  int input = -1;
  int output = -1;
  int errors = -1;
  std::vector<int> cores;  ///< to bind to; none: not bound
  int failure_pipe = -1;   ///< close-on-exec; gets an exec_failure when the program cannot be run
  bool on_screen = false;  ///< somebody looks at what goes to `output`, also at lines that are not complete
};

/// Tells a rank which file it is, "<device>:<inode>", behind which a terminal is: it may have been redirected since.
inline constexpr char const* terminal_variable = "ATOLL_TERMINAL";

/// Sent through the failure pipe.
struct exec_failure {
  int rank;
  int error;
};

/// Environment of a rank: ours, without what belongs to other launchers, with the user's additions.
std::vector<std::string> rank_environment(run_options const& options);

/// Why fork() has failed, and what to look at.
std::string why_no_process(int error);

/// As exec takes words and environments; valid as long as the texts are.
std::vector<char*> pointers_to(std::vector<std::string> const& texts);

/// Starts a rank as leader of a process group of its own; returns its pid. It dies with the launcher.
/// Throws startup_error when the system has no process left.
int spawn(run_options const& options, bootstrap::board const& board,
          std::vector<std::string> const& environment, rank_start const& how);

/// The file to run for a name: itself when it has a slash, else from PATH, else from the current directory.
/// Prints why there is none and returns empty; `status` is then the exit status.
std::string find_program(std::string const& name, int& status);

/// Lets this process open as many files as the system allows.
void raise_file_limit();
/// For a child, before exec: what it was before.
void restore_file_limit();

/// Most ranks that the limit on open files leaves room for.
int most_ranks();

}  // namespace atl::tools
