#pragma once

#include <fstream>
#include <stdexcept>
#include <string>

namespace atl::scale {

/// A file that lines of comma-separated values are added to, below `header` if it is new. Not open without a name.
/// Throws std::runtime_error if it cannot be written.
inline std::ofstream open_csv(std::string const& name, char const* header) {
  std::ofstream file;
  if (name.empty()) return file;
  file.open(name, std::ios::app);
  if (!file) throw std::runtime_error("cannot write " + name);
  if (file.tellp() == 0) file << header << '\n';
  return file;
}

}  // namespace atl::scale
