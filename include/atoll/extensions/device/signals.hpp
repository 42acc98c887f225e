#pragma once

/// Signals as kernels see them: words of 8 bytes that others set or add to when their data is in place.

#include <cstddef>
#include <cstdint>

#include <atoll/base/config.hpp>
#include <atoll/extensions/device/view.hpp>
#include <atoll/extensions/signal_op.hpp>
#include <upcxx/detail/config.hpp>

namespace atl::inline UPCXX_MODE::device {

/// One thread of the scope looks; all see what was written before the signal was given.
template <class Scope>
ATOLL_ANYWHERE bool wait_for_word(team_view const& t, Scope s, std::uint64_t const* word, std::uint64_t value,
                                  bool equal, call in = call::wait) {
  bool come = true;
  if (s.rank() == 0) {
    come = t.look_until(in, const_cast<std::uint64_t*>(word), value, [=](std::uint64_t& found) {
      found = words::load_acquire(word);
      return is_reached(found, value, equal);
    });
  }
  return s.sync_and(come);
}

/// Index of one of n words that has the value, the search beginning at `first`; n: nobody comes any more, or
/// there are none.
ATOLL_ANYWHERE inline std::size_t wait_for_any_word(team_view const& t, std::uint64_t const* word,
                                                    std::size_t n, std::uint64_t value, bool equal,
                                                    std::size_t first) {
  std::size_t which = n;
  if (n == 0) return which;
  t.look_until(call::wait_any, const_cast<std::uint64_t*>(word), value, [&](std::uint64_t& found) {
    for (std::size_t k = 0; k < n; ++k) {
      std::size_t const i = (first + k) % n;
      found = words::load_acquire(word + i);
      if (!is_reached(found, value, equal)) continue;
      which = i;
      return true;
    }
    return false;
  });
  return which;
}

}  // namespace atl::inline UPCXX_MODE::device
