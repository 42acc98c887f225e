#pragma once

#include <atomic>

#include <atoll/engine/on_done.hpp>

#include "engine/progress/waiting.hpp"

namespace atl::engine {

/// Waits for what `start` begins, which gets an on_done to call; makes progress by `progress` meanwhile.
template <class Start>
void run_to_end(bool (*progress)(), Start start) {
  // Another thread may complete it; what it and others did before is visible to who sees the flag.
  std::atomic<bool> complete{false};
  start(on_done{
      [](void* flag) { static_cast<std::atomic<bool>*>(flag)->store(true, std::memory_order_release); },
      &complete});
  wait_while([&] { return !complete.load(std::memory_order_acquire); }, progress);
}

}  // namespace atl::engine
