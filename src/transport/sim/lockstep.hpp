#pragma once

/// One rank at a time, in an order from the seed, so that a run can be repeated: a rank has the turn from one poll
/// to the next. One that computes for long without polling loses it to a watchdog, who says so once.

#include <atomic>
#include <cstdint>

#include "transport/shm/ring.hpp"
#include "transport/sim/layout.hpp"
#include "transport/sim/options.hpp"

namespace atl::transport::sim {

class lockstep {
 public:
  /// Ranks are in step from the first call on at which all of them live.
  lockstep(layout const& map, std::byte* base, std::int32_t ranks, std::int32_t me, options const& how)
      : map_(map),
        base_(base),
        ranks_(ranks),
        me_(me),
        seed_(how.seed),
        patience_ns_(how.turn_ns),
        turn_(map.page_of(base, 0)->turn) {}

  /// Passes the turn on, and waits until it is this rank's again.
  void next();
  /// For a rank that ends.
  void leave();
  /// This rank has found a packet: what it was and in which turn is part of the run's digest.
  void found(shm::ring_header const& what, unsigned queue, std::uint64_t token) {
    ++packets_;
    std::uint64_t const where = std::uint64_t{what.source} << 32 | std::uint64_t{what.kind} << 24 | queue;
    for (std::uint64_t const word : {had_, where, std::uint64_t{what.bytes}, token}) {
      digest_ = (digest_ ^ word) * 0x100000001b3U;
      digest_ ^= digest_ >> 29;
    }
  }
  /// Says how many there were, and the digest: runs that repeat have the same.
  void tell() const;

 private:
  std::uint64_t after(std::uint64_t turn) const;
  bool all_live();

  layout map_;
  std::byte* base_;
  std::int32_t ranks_, me_;
  std::uint64_t seed_;
  std::uint64_t patience_ns_;
  std::atomic<std::uint64_t>& turn_;       ///< number of the turn, and in the lowest 16 bits whose it is
  std::uint64_t had_ = ~std::uint64_t{0};  ///< the last one of this rank
  bool begun_ = false, warned_ = false;
  std::uint64_t packets_ = 0;
  std::uint64_t digest_ = 0xcbf29ce484222325U;
};

}  // namespace atl::transport::sim
