#pragma once

/// Finding and ending processes that ranks leave behind.

#include <string>
#include <string_view>
#include <vector>

namespace atl::tools {

/// Processes whose parent is this process.
std::vector<int> children_of_self();

/// Ends every child of this process except `spared`, and, because this process adopts orphans, whatever those
/// leave behind. Gives up after two seconds.
void end_children(std::vector<int> const& spared);

/// True when `text` occurs in the initial environment of a process (of this user).
bool has_in_environment(int pid, std::string_view text);

/// Kills every process of this user in whose initial environment `variable` ("NAME=value") occurs.
/// Returns how many there were.
int kill_by_environment(std::string_view variable);

}  // namespace atl::tools
