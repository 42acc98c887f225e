#pragma once

/// What the host calls itself.

#include <unistd.h>

#include <array>
#include <string>

namespace atl::os {

/// `otherwise` where the system tells no name.
inline std::string host_name(char const* otherwise = "") {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : otherwise;
}

}  // namespace atl::os
