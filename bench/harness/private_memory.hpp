#pragma once

#include <fstream>
#include <string>

namespace atl::bench {

/// Private memory of this process that is resident, in bytes.
inline double private_memory() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("RssAnon:")) return std::stod(line.substr(8)) * 1024;
  }
  return 0;
}

}  // namespace atl::bench
