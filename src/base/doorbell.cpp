#include "base/doorbell.hpp"

#include "base/bell_events.hpp"
#include "base/os/event.hpp"
#include "base/os/futex.hpp"

namespace atl {

void ring(doorbell& peer, std::uint32_t seen) noexcept {
  // If another sender was faster, it woke the sleeper; if that announced itself again meanwhile, its look
  // came after our publication.
  if (!peer.word.compare_exchange_strong(seen, seen + 1, std::memory_order_release,
                                         std::memory_order_relaxed))
    return;
  if (std::uint32_t const event = peer.event.load(std::memory_order_relaxed); event != 0) {
    os::ring_event(bell_event(event - 1));
  } else {
    os::futex_wake(peer.word);
  }
}

void sleep(doorbell const& mine, std::uint32_t announced, std::int64_t longest_ns, int other) noexcept {
  std::uint32_t const event = mine.event.load(std::memory_order_relaxed);
  if (event == 0) {
    os::futex_wait(mine.word, announced, longest_ns);
  } else {
    // Who has rung since the announcement has made the descriptor readable.
    os::wait_for_either(bell_event(event - 1), other, longest_ns);
  }
}

}  // namespace atl
