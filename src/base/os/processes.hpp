#pragma once

/// Processes as the system lists them, in the namespace of this one.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace atl::os {

struct listed_process {
  int number = 0;
  int parent = 0;
  bool ended = false;              ///< nobody has waited for it yet
  std::string name;                ///< at most 15 characters
  unsigned long long started = 0;  ///< by the system's clock; those of one tick ascend by number
  int status = 0;                  ///< if it has ended, as waitpid() tells; 0 where that may not be known
  bool ending = false;             ///< nothing of the program runs any more
};

/// The numbers of all that are in sight; empty where they cannot be listed.
std::vector<int> process_numbers();
/// Nothing if there is none of that number in sight.
std::optional<listed_process> find_process(int number);
/// All of them.
std::vector<listed_process> list_processes();

/// How many threads a process has; 0 where that may not be known.
int threads_of(int number);

/// Of a process as it was started, each line with a null character behind it; nothing where it may not be read.
std::optional<std::string> read_environment(int number);
/// What stands behind "NAME=" there; nothing if the variable is not set.
std::optional<std::string_view> value_in(std::string_view environment, std::string_view variable);

}  // namespace atl::os
