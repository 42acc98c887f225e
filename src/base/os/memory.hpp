#pragma once

/// How much memory this process may use: what the host has free and what its control groups allow.

#include <cstdint>
#include <optional>

namespace atl::os {

/// All figures in bytes.
struct memory_limits {
  std::uint64_t host_total = 0;
  std::uint64_t host_available = 0;          ///< MemAvailable: free plus what the kernel can take back
  std::optional<std::uint64_t> group_limit;  ///< tightest limit of the control groups above us, if any
  std::uint64_t group_used = 0;              ///< use of that group, without cache that can be dropped
  /// What can still be taken: the smaller of the host's and the group's room.
  std::uint64_t available() const noexcept;
};

/// Reads /proc/meminfo and the control groups (versions 1 and 2). `root` stands in for "/" in tests.
memory_limits read_memory_limits(char const* root = "");

}  // namespace atl::os
