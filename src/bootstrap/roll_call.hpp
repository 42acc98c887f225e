#pragma once

/// Which ranks of a launcher's node still have a process? For those that wait for them at the start: launchers wait as well.

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace atl::bootstrap {

/// A process as the system lists it.
struct listed_process {
  int number = 0;
  int parent = 0;
  bool ended = false;  ///< nobody has waited for it yet
  std::string name;    ///< at most 15 characters
};

/// All that are in sight; empty where they cannot be listed.
std::vector<listed_process> list_processes();

/// Of a process as it was started; nothing where it may not be read.
using environment_reader = std::function<std::optional<std::string>(int number)>;
std::optional<std::string> read_environment(int number);

/// Those of `ranks`, which the launcher has started on this node, of which no process is left. Nothing where that is not sure: ranks are known by the
/// variable that tells them their number, among the descendants of the launcher's process on this node, if that is in sight.
std::optional<std::vector<std::int32_t>> call_roll(std::span<listed_process const> all, int self,
                                                   std::string const& rank_variable,
                                                   std::span<std::int32_t const> ranks,
                                                   environment_reader const& environment_of);

}  // namespace atl::bootstrap
