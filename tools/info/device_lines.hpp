#pragma once

/// What `atoll info` says of where network devices are.

#include <string>
#include <vector>

namespace atl::tools {

/// A line for each device that is on a bus: near which cores, how far from these (hardware threads), beside which GPU. `root`: before /sys.
std::string words_on_devices(std::vector<int> const& cpus, std::string const& root = "");

}  // namespace atl::tools
