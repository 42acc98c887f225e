#pragma once

/// Which namespaces this process is in.

#include <sys/stat.h>

#include <cstdint>
#include <string>

namespace atl::os {

/// Names that of a kind ("net", "pid") among those of the host; 0 if that cannot be found out.
inline std::uint64_t own_namespace(char const* kind) {
  struct stat about {};
  return ::stat((std::string("/proc/self/ns/") + kind).c_str(), &about) == 0 ? about.st_ino : 0;
}

}  // namespace atl::os
