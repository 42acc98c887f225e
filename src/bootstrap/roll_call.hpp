#pragma once

/// Which ranks of a launcher's node still have a process? For those that wait for them at the start: launchers wait as well.

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/os/processes.hpp"

namespace atl::bootstrap {

/// Of a process, as os::read_environment.
using environment_reader = std::function<std::optional<std::string>(int number)>;

/// Those of `ranks`, which the launcher has started on this node, of which no process is left. Nothing where that is not sure: ranks are known by the
/// variable that tells them their number, among the descendants of the launcher's process on this node, if that is in sight.
std::optional<std::vector<std::int32_t>> call_roll(std::span<os::listed_process const> all, int self,
                                                   std::string const& rank_variable,
                                                   std::span<std::int32_t const> ranks,
                                                   environment_reader const& environment_of);

}  // namespace atl::bootstrap
