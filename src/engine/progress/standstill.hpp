#pragma once

/// Does anything move at this rank while a thread of several waits for room? Its own polls do not tell: another thread may be at them, and
/// the one that runs the calls that arrive makes room.

#include <cstddef>
#include <cstdint>

#include "engine/progress/guard.hpp"
#include "engine/progress/progress_engine.hpp"

namespace atl::engine {

class standstill {
 public:
  /// `patience_ns`: nothing may change for so long, as a thread that would change it may be off its core.
  standstill(std::uint64_t now_ns, std::uint64_t patience_ns)
      : since_ns_(now_ns), patience_ns_(patience_ns) {}

  /// Has nothing changed for long enough? `moved`: the caller's own poll has done something. Under no lock.
  bool lasts(progress_engine const& engine, bool moved, std::uint64_t now_ns) {
    signs const now = look(engine);
    if (moved || now != seen_) {
      seen_ = now;
      since_ns_ = now_ns;
    }
    return now_ns - since_ns_ >= patience_ns_;
  }

 private:
  struct signs {
    std::uint64_t taken = 0;
    std::size_t arrived = 0;
    std::size_t outgoing = 0;
    bool operator==(signs const&) const = default;
  };
  static signs look(progress_engine const& engine) {
    guard const held;
    return {engine.shm.taken(), engine.shm.memory().arrived(), engine.shm.memory().outgoing()};
  }

  signs seen_;
  std::uint64_t since_ns_;
  std::uint64_t patience_ns_;
};

}  // namespace atl::engine
