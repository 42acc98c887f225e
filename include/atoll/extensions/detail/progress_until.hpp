#pragma once

/// A wait that ends in time.

#include <chrono>

#include <upcxx/detail/config.hpp>
#include <upcxx/progress.hpp>

namespace atl::inline UPCXX_MODE::detail {

/// Makes user-level progress until something holds, or so much time has gone by: true if it holds. Looks once more when the time is over, as
/// the last progress may have been long.
template <class Holds>
[[nodiscard]] bool progress_until(Holds const& holds, std::chrono::steady_clock::duration patience) {
  auto const end = std::chrono::steady_clock::now() + patience;
  while (!holds()) {
    if (std::chrono::steady_clock::now() >= end) return false;
    upcxx::progress();
  }
  return true;
}

}  // namespace atl::inline UPCXX_MODE::detail
