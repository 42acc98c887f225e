#include "transport/sim/lockstep.hpp"

#include <sched.h>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "transport/sim/wire.hpp"

namespace atl::transport::sim {
namespace {

std::int32_t owner(std::uint64_t turn) { return static_cast<std::int32_t>(turn & 0xffff); }

}  // namespace

/// The turn that follows: its owner depends on nothing but seed, number, and who has ended.
std::uint64_t lockstep::after(std::uint64_t turn) const {
  std::uint64_t const number = (turn >> 16) + 1;
  choices draw(seed_ * 0x2545f4914f6cdd1dU + number);
  auto rank = static_cast<std::int32_t>(draw.below(static_cast<std::uint64_t>(ranks_)));
  for (std::int32_t tries = 0; tries < ranks_; ++tries) {
    if (map_.page_of(base_, rank)->state.load(std::memory_order_relaxed) != gone) break;
    rank = rank + 1 == ranks_ ? 0 : rank + 1;
  }
  return number << 16 | static_cast<std::uint64_t>(rank);
}

bool lockstep::all_live() {
  for (std::int32_t rank = 0; rank < ranks_; ++rank) {
    if (map_.page_of(base_, rank)->state.load(std::memory_order_acquire) == not_yet) return false;
  }
  return true;
}

void lockstep::next() {
  if (!begun_ && !(begun_ = all_live())) return;
  std::uint64_t seen = turn_.load(std::memory_order_acquire);
  // Only a turn that this rank has had: the first one may have come before its first call. Release: what it has
  // done comes before what the next one does; pairs with the loads below.
  if (had_ == seen) {
    std::uint64_t const then = after(seen);
    if (turn_.compare_exchange_strong(seen, then, std::memory_order_acq_rel)) seen = then;
  }
  std::uint64_t since = now_ns();
  while (owner(seen) != me_) {
    ::sched_yield();
    std::uint64_t const now = turn_.load(std::memory_order_acquire);
    if (now != seen) {
      seen = now;
      since = now_ns();
    } else if (now_ns() - since > patience_ns_) {
      if (turn_.compare_exchange_strong(seen, after(seen), std::memory_order_acq_rel) && !warned_) {
        warned_ = true;
        warn(
            "sim",
            "lockstep: rank %d has not called the library for %d ms; its turn was passed on, so this run may "
            "not repeat (ATOLL_SIM_NETWORK=turn=10s waits longer)",
            owner(seen), static_cast<int>(patience_ns_ / 1'000'000));
      }
      seen = turn_.load(std::memory_order_acquire);
      since = now_ns();
    }
  }
  had_ = seen;
}

void lockstep::tell() const {
  warn("sim", "lockstep: seed %llu: %llu packets, digest %016llx", static_cast<unsigned long long>(seed_),
       static_cast<unsigned long long>(packets_), static_cast<unsigned long long>(digest_));
}

void lockstep::leave() {
  std::uint64_t seen = turn_.load(std::memory_order_acquire);
  if (begun_ && owner(seen) == me_) {
    (void)turn_.compare_exchange_strong(seen, after(seen), std::memory_order_acq_rel);
  }
}

}  // namespace atl::transport::sim
