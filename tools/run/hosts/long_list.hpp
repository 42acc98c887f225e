#pragma once

/// Lists of hosts that are too long for a command line.

#include <string>
#include <vector>

#include "base/os/unique_fd.hpp"

namespace atl::tools {

/// Of srun's words: has their list of hosts (-w), if it is longer than systems take a word, read from a file without a name instead. Programs that this
/// process starts have it open, as long as what is returned; nothing is where the list is short. Throws startup_error.
os::unique_fd put_long_list_into_file(std::vector<std::string>& words);

}  // namespace atl::tools
