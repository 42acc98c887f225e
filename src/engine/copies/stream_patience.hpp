#pragma once

#include <chrono>

namespace atl::engine {

/// For waits at the end of the library, when nobody gives signals any more: streams of the program whose end this rank
/// waits for must not stand still for ever.
class stream_patience {
 public:
  /// Something has moved.
  void renew() noexcept { since_ = {}; }
  /// Nothing has: ends the job, in words, if that is so for long and streams stand still.
  void check();

 private:
  std::chrono::steady_clock::time_point since_{};
};

}  // namespace atl::engine
