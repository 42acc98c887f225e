#include <sched.h>

#include <atoll/transport/growing.hpp>

#include "base/pause.hpp"

namespace atl::transport {

std::size_t await_written(std::byte const* base, std::size_t count) noexcept {
  // A piece takes a microsecond or two. A sender that takes longer has lost its core.
  constexpr int polls_before_yielding = 1 << 10;
  for (int polls = 0;; ++polls) {
    // Pairs with the release in am_commit_copying(): so many bytes can be read.
    std::size_t const written = written_of(base).load(std::memory_order_acquire);
    if (written > count) return written;
    if (polls < polls_before_yielding) {
      cpu_pause();
    } else {
      sched_yield();
    }
  }
}

}  // namespace atl::transport
