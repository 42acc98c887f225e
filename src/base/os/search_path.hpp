#pragma once

/// Programs where PATH has them.

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <sstream>
#include <string>
#include <vector>

namespace atl::os {

inline bool is_program(std::string const& file) {
  struct stat info {};
  return ::stat(file.c_str(), &info) == 0 && S_ISREG(info.st_mode) && ::access(file.c_str(), X_OK) == 0;
}

/// The files that may be meant by a name, in the order of PATH; whether they are there or not.
inline std::vector<std::string> places_on_path(std::string const& name) {
  char const* const path = std::getenv("PATH");
  std::istringstream folders(path != nullptr ? path : "/usr/local/bin:/usr/bin:/bin");
  std::vector<std::string> places;
  for (std::string folder; std::getline(folders, folder, ':');)
    places.push_back((folder.empty() ? "." : folder) + "/" + name);
  return places;
}

/// Empty if there is none.
inline std::string find_on_path(std::string const& name) {
  for (std::string const& place : places_on_path(name)) {
    if (is_program(place)) return place;
  }
  return {};
}

}  // namespace atl::os
