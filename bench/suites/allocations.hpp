#pragma once

/// Counts this process' allocations. Where malloc cannot be replaced
/// (sanitizers, other C libraries), it says so.

#include <cstdint>

namespace atl::bench {

bool can_count_allocations();
void start_counting_allocations();
std::uint64_t stop_counting_allocations();

}  // namespace atl::bench
