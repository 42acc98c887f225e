#pragma once

#include <cstdint>
#include <ctime>

namespace atl {

/// Steady clock, nanoseconds; comparable between the processes of a host.
inline std::uint64_t now_ns() noexcept {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000U + static_cast<std::uint64_t>(now.tv_nsec);
}

}  // namespace atl
