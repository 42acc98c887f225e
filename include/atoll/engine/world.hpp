#pragma once

/// The job as the engine sees it: ranks, and its end.

#include <cstdint>

#include <atoll/base/config.hpp>

namespace atl::engine {

/// Position in the job. Valid between start and stop; constant then.
struct job_info {
  std::int32_t rank_me = 0;
  std::int32_t rank_n = 1;
  std::int32_t local_rank = 0;  ///< among the ranks of this host
  std::int32_t local_n = 1;
  std::int32_t local_first = 0;  ///< world rank of local rank 0
  std::int32_t host = 0;
  std::int32_t host_n = 1;
};
extern ATOLL_EXPORT constinit job_info job;

/// Has `function` called when the library ends, once, while memory of the own heap can still be freed and
/// nobody communicates any more: for what exists from its first use until then.
ATOLL_EXPORT void call_at_end(void (*function)());

/// How often the library has been stopped in this process: changes when all memory of the heaps is gone.
ATOLL_EXPORT std::uint64_t periods_ended() noexcept;

}  // namespace atl::engine
