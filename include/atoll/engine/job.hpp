#pragma once

/// The job as the engine sees it.

#include <cstdint>

#include <atoll/base/config.hpp>

namespace atl::engine {

/// Position in the job. Valid between start and stop; constant then.
struct job_info {
  std::int32_t rank_me = 0;
  std::int32_t rank_n = 1;
  std::int32_t local_rank = 0;  ///< among the ranks of this host
  std::int32_t local_n = 1;
  std::int32_t host = 0;
  std::int32_t host_n = 1;
};
extern ATOLL_EXPORT constinit job_info job;

}  // namespace atl::engine
