#pragma once

/// The modules of this process (program, shared libraries), as function tokens see them.

#include <cstdint>
#include <string>
#include <vector>

namespace atl::engine {

struct loaded_module {
  std::uintptr_t begin = 0;  ///< first mapped byte
  std::uintptr_t end = 0;
  std::uint32_t hash = 0;  ///< the upper half of its functions' tokens
  std::string name;        ///< path; empty for the program itself
  std::string modes{};     ///< that its files were compiled in; empty if without the library's headers
};

/// What is loaded now, ordered by address. Stops the job when modules of different modes are.
std::vector<loaded_module> loaded_modules();

/// Hash of the module whose function the calling thread resolved last; 0 if there was none.
std::uint32_t last_resolved_module() noexcept;

}  // namespace atl::engine
