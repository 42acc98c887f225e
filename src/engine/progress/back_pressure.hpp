#pragma once

/// What waits for room have come to, for those who look at the engine.

#include <atomic>
#include <cstdint>

namespace atl::engine {

/// Waits for room at a target that its sender's patience has ended, in this process. Any thread; relaxed: it only counts.
extern std::atomic<std::uint64_t> waits_in_vain;

}  // namespace atl::engine
