#include "base/os/memory.hpp"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <string>

#include "base/os/cgroup.hpp"

namespace atl::os {
namespace {

/// Number after "key" at the start of a line, or 0.
std::uint64_t field(std::string const& text, std::string const& key) {
  std::size_t at = 0;
  if (!text.starts_with(key)) {
    at = text.find("\n" + key);
    if (at == std::string::npos) return 0;
    ++at;
  }
  return std::strtoull(text.c_str() + at + key.size(), nullptr, 10);
}

/// Takes over the limit of a group when it leaves less room than the one we have.
void consider(memory_limits& limits, std::optional<std::uint64_t> limit, std::optional<std::uint64_t> used,
              std::uint64_t droppable) {
  // Version 1 writes "no limit" as a number near 2^63.
  if (!limit || *limit >= std::uint64_t{1} << 60) return;
  std::uint64_t const busy = used.value_or(0) - std::min(droppable, used.value_or(0));
  std::uint64_t const room = *limit - std::min(busy, *limit);
  std::uint64_t const room_so_far =
      limits.group_limit ? *limits.group_limit - std::min(limits.group_used, *limits.group_limit)
                         : std::numeric_limits<std::uint64_t>::max();
  if (room < room_so_far) {
    limits.group_limit = limit;
    limits.group_used = busy;
  }
}

}  // namespace

std::uint64_t memory_limits::available() const noexcept {
  if (!group_limit) return host_available;
  return std::min(host_available, *group_limit - std::min(group_used, *group_limit));
}

memory_limits read_memory_limits(char const* root) {
  memory_limits limits;
  if (auto const text = read_small_file(std::string(root) + "/proc/meminfo")) {
    limits.host_total = field(*text, "MemTotal:") * 1024;
    limits.host_available = field(*text, "MemAvailable:") * 1024;
  }
  for (auto const& folder : cgroup_folders("", root)) {
    auto const stat = read_small_file(folder + "/memory.stat").value_or("");
    consider(limits, read_number(folder + "/memory.max"), read_number(folder + "/memory.current"),
             field(stat, "inactive_file ") + field(stat, "active_file "));
  }
  for (auto const& folder : cgroup_folders("memory", root)) {
    auto const stat = read_small_file(folder + "/memory.stat").value_or("");
    consider(limits, read_number(folder + "/memory.limit_in_bytes"),
             read_number(folder + "/memory.usage_in_bytes"),
             field(stat, "total_inactive_file ") + field(stat, "total_active_file "));
  }
  return limits;
}

}  // namespace atl::os
