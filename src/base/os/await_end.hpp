#pragma once

/// For who must not go on, since another ends this process. Signals whose handlers return do not end the wait, as they would end sleep().

#include <unistd.h>

#include <chrono>
#include <thread>

namespace atl::os {

[[noreturn]] inline void await_end() noexcept {
  for (;;) ::pause();
}

/// Returns if nobody has ended this process by then.
inline void await_end(std::chrono::seconds most) { std::this_thread::sleep_for(most); }

}  // namespace atl::os
