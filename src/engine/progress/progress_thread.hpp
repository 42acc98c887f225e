#pragma once

/// A thread that makes internal progress while the program computes (ATOLL_PROGRESS_THREAD): it answers what a network brings for
/// this rank, and goes on with what this rank has started. It runs no callbacks, but operations of reductions and serialization of values of collectives.
///
/// It is one more thread that polls, under the engine's lock, as those of `par` programs are; so that lock is used in jobs with
/// it, in the seq thread mode too.

#include <atomic>
#include <cstdint>
#include <thread>

namespace atl::engine {

struct progress_engine;

class progress_thread {
 public:
  explicit progress_thread(progress_engine& engine);
  /// Waits for its end, which takes no longer than its sleep.
  ~progress_thread();
  progress_thread(progress_thread const&) = delete;
  progress_thread& operator=(progress_thread const&) = delete;

 private:
  void run();
  void rest(unsigned fruitless) const;

  progress_engine& engine_;
  std::atomic<bool> ending_{false};
  std::thread thread_;
};

}  // namespace atl::engine
