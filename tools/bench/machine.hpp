#pragma once

/// Where and with what a measurement ran: names and values, in the order to print them.

#include <string>
#include <utility>
#include <vector>

namespace atl::tools {

using configuration = std::vector<std::pair<std::string, std::string>>;

configuration describe_build();
configuration describe_machine();

}  // namespace atl::tools
