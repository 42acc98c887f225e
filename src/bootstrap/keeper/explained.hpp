#pragma once

/// For a rank that has something to say about the end of the job: does one of another host say it?

#include <unistd.h>

#include "bootstrap/keeper/orders.hpp"

namespace atl::keeping {

/// Waits until that is known, at most for as long as keepers may take to meet and news to travel. Usable in signal handlers. `mine` stands as `ends_job`
/// already.
inline bool is_explained_by_another(place const& mine, std::int32_t host,
                                    std::uint32_t patience_ms) noexcept {
  constexpr std::int32_t pause_ms = 2;
  std::uint32_t left = patience_ms + explanation_travels_ms;
  std::int32_t listened = 0;  // since keepers have met
  // Those of the first host need not ask.
  while (host != 0 && mine.explained.load(std::memory_order_acquire) == 0 && left >= pause_ms &&
         listened < explanation_travels_ms) {
    ::usleep(pause_ms * 1000);
    left -= pause_ms;
    if (mine.met.load(std::memory_order_acquire) != 0) listened += pause_ms;
  }
  return mine.explained.load(std::memory_order_acquire) != 0;
}

}  // namespace atl::keeping
