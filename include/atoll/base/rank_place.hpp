#pragma once

/// Where a rank is, as a table of all ranks of a job has it.

#include <cstdint>

namespace atl {

struct rank_place {
  std::int32_t host = 0;        ///< index among the job's hosts
  std::int32_t local_rank = 0;  ///< among the ranks of that host
};
static_assert(sizeof(rank_place) == 8);  // for every rank of the job, in every process

}  // namespace atl
