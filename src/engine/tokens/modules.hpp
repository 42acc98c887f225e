#pragma once

/// The modules of this process (program, shared libraries), as function tokens see them.

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "engine/host/page.hpp"

namespace atl::engine {

struct loaded_module {
  std::uintptr_t begin = 0;  ///< first mapped byte
  std::uintptr_t end = 0;
  std::uint32_t content = 0;  ///< hash of its build id, or of its code
  std::uint32_t hash = 0;     ///< the upper half of its functions' tokens
  std::string name;           ///< path; empty for the program itself
  bool stays = false;         ///< is never unloaded, so tokens of its functions may be remembered
  std::string modes{};        ///< that its files were compiled in; empty if without the library's headers
};

/// Ordered by address. Immutable: readers keep plain pointers to tables, which live as long as the process.
using module_table = std::vector<loaded_module>;

/// The table made last, or null. Release and acquire: who sees it sees its content.
extern std::atomic<module_table const*> newest_modules;
inline module_table const* known_modules() noexcept { return newest_modules.load(std::memory_order_acquire); }
/// Looks what is loaded now. Stops the job when modules of different modes are.
module_table const& look_for_modules();
/// Has the loader keep a module until the process ends, and returns a table that says so. Waits for threads that
/// are loading libraries. Quietly does nothing for what the loader does not find by its name.
module_table const& keep_loaded(loaded_module const& module);

/// Null if there is none.
loaded_module const* find_address(module_table const& modules, std::uintptr_t address) noexcept;
loaded_module const* find_hash(module_table const& modules, std::uint32_t hash) noexcept;

/// Puts the names of the loaded modules where peers find them, from now on; null ends it.
void publish_module_names(module_names* where);

}  // namespace atl::engine
