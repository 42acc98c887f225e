#pragma once

/// Words on their last way: whoever has the other end may have made it non-blocking, and signals may come.

#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <string_view>

namespace atl::os {

/// Writes all of it, unless nobody takes it: gives up after a second in which not a byte went.
inline void write_all(int descriptor, std::string_view text) noexcept {
  constexpr int patience_ms = 1000;
  while (!text.empty()) {
    ::ssize_t const written = ::write(descriptor, text.data(), text.size());
    if (written > 0) {
      text.remove_prefix(static_cast<std::size_t>(written));
    } else if (written < 0 && errno == EAGAIN) {
      pollfd room{descriptor, POLLOUT, 0};
      if (::poll(&room, 1, patience_ms) == 0) return;
    } else if (written == 0 || errno != EINTR) {
      return;
    }
  }
}

}  // namespace atl::os
