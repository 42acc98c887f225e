#pragma once

/// Writing without waiting to descriptors that may block, and are as they are since other programs have them, too.

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <string_view>

namespace atl::os {

struct written_at_once {
  std::size_t bytes = 0;
  int failure = 0;  ///< errno; 0: what is left has to wait
};

/// As much of the text as a reader lets through now.
inline written_at_once write_at_once(int descriptor, std::string_view text) noexcept {
  // After POLLOUT a pipe takes this much without blocking, even when it is a blocking descriptor.
  constexpr std::size_t piece = 4096;
  written_at_once done;
  while (done.bytes < text.size()) {
    pollfd item{descriptor, POLLOUT, 0};
    if (::poll(&item, 1, 0) <= 0) break;
    ::ssize_t const now =
        ::write(descriptor, text.data() + done.bytes, std::min(piece, text.size() - done.bytes));
    if (now > 0) {
      done.bytes += static_cast<std::size_t>(now);
    } else if (errno == EAGAIN) {
      break;
    } else if (errno != EINTR) {
      done.failure = errno;
      break;
    }
  }
  return done;
}

}  // namespace atl::os
