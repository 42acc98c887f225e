#pragma once

/// Is there anything to do? Asked in every call of progress() and mostly answered by no: a few loads, inline. A network that it costs nothing
/// to ask is asked, and what it finds is done as far as that needs no code of the program.

#include <cstddef>

#include "engine/progress/progress_engine.hpp"

namespace atl::engine {

/// Outgoing messages and copies of device memory that still need this rank's internal progress.
inline std::size_t unsent() noexcept {
  progress_engine const& engine = progress_engine::here();
  std::size_t const local = engine.shm.unsent() + engine.open.owed();
  return engine.network == nullptr ? local : local + engine.network->unsent();
}

/// True if nothing has arrived and advance() has nothing to do (a hint). In a job on several hosts only while the network
/// need not be polled, or has been, for nothing.
inline bool quiet() {
  progress_engine const& engine = progress_engine::here();
  if (!engine.shm.quiet()) return false;
  if ((engine.shm.busy() | engine.open.items()) == 0) [[likely]]
    return true;
  // Others may be at it where several threads are: the network is asked under the lock only.
  return engine.network != nullptr && !engine.threaded && engine.shm.busy() == 0 && !engine.open.any() &&
         engine.network->rests();
}

}  // namespace atl::engine
