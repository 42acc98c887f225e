#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include <atoll/base/check.hpp>
#include <upcxx/detail/config.hpp>
#include <upcxx/fwd.hpp>
#include <upcxx/team.hpp>

namespace atl::inline UPCXX_MODE::detail {

/// A list of neighbours as programs give it, without the own rank and repetitions. `call`: whose, for messages.
inline std::vector<upcxx::intrank_t> distinct_ranks(std::span<upcxx::intrank_t const> ranks,
                                                    upcxx::team const& over, char const* call) {
  std::vector<upcxx::intrank_t> result;
  for (upcxx::intrank_t const r : ranks) {
    if (r < 0 || r >= over.rank_n()) {
      atl::check_failed("%s: rank %d is outside the team of %d ranks", call, static_cast<int>(r),
                        static_cast<int>(over.rank_n()));
    }
    if (r != over.rank_me() && std::find(result.begin(), result.end(), r) == result.end()) {
      result.push_back(r);
    }
  }
  return result;
}

}  // namespace atl::inline UPCXX_MODE::detail
