#pragma once

/// Is there anything to do? Asked in every call of progress() and mostly answered by no: a few loads, inline.

#include "engine/collectives/collective.hpp"
#include "engine/copies/copies.hpp"
#include "engine/world.hpp"

namespace atl::engine {

/// Outgoing messages and copies of device memory that still need this rank's internal progress.
inline std::size_t unsent() noexcept { return world->shm->unsent() + copies_open(); }

/// True if nothing has arrived and advance() has nothing to do (a hint).
inline bool quiet() noexcept {
  return world->shm->quiet() && (world->shm->unsent() | device_work.load(std::memory_order_relaxed) |
                                 open_collectives.load(std::memory_order_relaxed)) == 0;
}

}  // namespace atl::engine
