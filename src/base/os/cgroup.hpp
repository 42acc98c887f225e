#pragma once

/// Where this process stands in the control group trees. Internal to base/os.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace atl::os {

/// Folders of the group of this process and of its ancestors, innermost first, for one controller. Version 2
/// folders when `controller` is empty. Folders that cannot be seen (other mount namespace) are left out; the
/// root of the mount is always there when the hierarchy is mounted.
std::vector<std::string> cgroup_folders(std::string const& controller, char const* root);

/// Whole text of a small file, or nothing.
std::optional<std::string> read_small_file(std::string const& path);

/// Unsigned number at the start of a file; nothing when absent or not a number ("max").
std::optional<std::uint64_t> read_number(std::string const& path);

}  // namespace atl::os
