#pragma once

#include <fcntl.h>

namespace atl::os {

/// Opens those of the three standard streams that whoever started the program has closed. Memory that ranks share, and connections between them, must
/// not get their numbers: what the program prints would go there.
inline void open_standard_streams() noexcept {
  for (int descriptor = 0; descriptor <= 2; ++descriptor) {
    if (::fcntl(descriptor, F_GETFD) < 0) {
      [[maybe_unused]] int const opened = ::open("/dev/null", descriptor == 0 ? O_RDONLY : O_WRONLY);
    }
  }
}

}  // namespace atl::os
