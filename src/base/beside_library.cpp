#include "base/beside_library.hpp"

#include <dlfcn.h>
#include <unistd.h>

#include <array>

namespace atl {

std::vector<std::string> places_beside_library(std::string_view name) {
  Dl_info here{};
  std::string folder = ".";
  if (::dladdr(reinterpret_cast<void const*>(&places_beside_library), &here) != 0 &&
      here.dli_fname != nullptr) {
    std::string const file = here.dli_fname;
    std::size_t const slash = file.rfind('/');
    // A program that was found by PATH has no folder in its name; its own link has.
    std::array<char, 4096> self{};
    if (slash != std::string::npos) {
      folder = file.substr(0, slash);
    } else if (::readlink("/proc/self/exe", self.data(), self.size() - 1) > 0) {
      folder = self.data();
      folder.resize(folder.rfind('/'));
    }
  }
  std::string const file = "/" + std::string(name);
  return {folder + file, folder + "/../" ATOLL_LIBRARY_FOLDER + file, folder + "/../lib" + file};
}

}  // namespace atl
