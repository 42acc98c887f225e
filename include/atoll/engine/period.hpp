#pragma once

/// Periods of the library: from start to stop. A process may have several, one after the other.

#include <cstdint>

#include <atoll/base/config.hpp>

namespace atl::engine {

/// Has `function` called when the own heap ends, with the library or before (destroy_heap): once, while its
/// memory can still be freed and nobody communicates any more. For what exists from its first use until then.
ATOLL_EXPORT void call_at_end(void (*function)());

/// How often the library has been stopped in this process: changes when all memory of the heaps is gone.
ATOLL_EXPORT std::uint64_t periods_ended() noexcept;

/// How often the own heap has ended in this process, with a period or by destroy_heap: what was allocated at
/// another count is gone, and must not be freed.
ATOLL_EXPORT std::uint64_t heaps_ended() noexcept;

}  // namespace atl::engine
