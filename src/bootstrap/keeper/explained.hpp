#pragma once

/// For a rank that has something to say about the end of the job: does one of another host say it?

#include <unistd.h>

#include <algorithm>

#include "bootstrap/keeper/orders.hpp"

namespace atl::keeping {

/// How long is_explained_by_another() waits at most.
constexpr std::int32_t longest_question_ms(std::uint32_t patience_ms) noexcept {
  return static_cast<std::int32_t>(meeting_ms(patience_ms)) + launcher_travels_ms;
}

/// Waits until that is known, at most for as long as keepers may take to meet and news to travel. Where keepers cannot meet, news come by the
/// launcher alone, as the end of this rank. Usable in signal handlers. `mine` stands as `ends_job` already.
inline bool is_explained_by_another(place const& mine, std::int32_t host,
                                    std::uint32_t patience_ms) noexcept {
  constexpr std::int32_t pause_ms = 2;
  // As long as it was waited for the others to answer.
  std::int32_t const by_launcher =
      std::clamp(static_cast<std::int32_t>(patience_ms), explanation_travels_ms, launcher_travels_ms);
  std::int32_t listened = 0;  // since it is known whether keepers meet
  // Those of the first host need not ask.
  for (std::int32_t left = longest_question_ms(patience_ms);
       host != 0 && mine.explained.load(std::memory_order_acquire) == 0 && left >= pause_ms;
       left -= pause_ms) {
    meeting const met = mine.met.load(std::memory_order_acquire);
    if (met == meeting::nobody) break;
    if (listened >= (met == meeting::failed ? by_launcher : explanation_travels_ms)) break;
    ::usleep(pause_ms * 1000);
    if (met != meeting::awaited) listened += pause_ms;
  }
  return mine.explained.load(std::memory_order_acquire) != 0;
}

}  // namespace atl::keeping
