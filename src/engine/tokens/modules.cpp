// A table of loaded modules, searched by address for tokens of functions and by hash for functions of tokens,
// is made again when a look-up misses, so dlopen needs no announcement. The table is immutable once published:
// readers take a pointer, writers replace it under a mutex; old tables are kept (there are few).
//
// Libraries may be unloaded, and others take their places, until one of their functions has a token. Then they
// stay, so that nobody who remembers a token or a place of theirs has to look whether it still holds.

#include "engine/tokens/modules.hpp"

#include <dlfcn.h>
#include <link.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <memory>
#include <mutex>
#include <string_view>
#include <utility>

#include "base/error.hpp"
#include "base/os/elf_notes.hpp"

namespace atl::engine {

std::atomic<module_table const*> newest_modules{nullptr};

namespace {

using module = loaded_module;

constexpr std::uint32_t fnv_start = 2166136261U;

std::uint32_t fnv(std::uint32_t hash, void const* data, std::size_t bytes) {
  auto const* p = static_cast<unsigned char const*>(data);
  for (std::size_t i = 0; i < bytes; ++i) hash = (hash ^ p[i]) * 16777619U;
  return hash;
}

/// Takes the build id and the modes of a module from its notes.
bool read_notes(dl_phdr_info const& info, ElfW(Phdr) const& segment, module& into) {
  bool identified = false;
  auto const* const at = reinterpret_cast<char const*>(info.dlpi_addr + segment.p_vaddr);
  os::find_note(at, segment.p_memsz, segment.p_align,
                [&](std::string_view name, std::uint32_t type, std::string_view content) {
                  if (name == "GNU" && type == NT_GNU_BUILD_ID && !identified) {
                    into.content = fnv(into.content, content.data(), content.size());
                    identified = true;
                  } else if (name == os::facts_note_name && type == os::facts_note_type) {
                    into.modes = format("threadmode %s, codemode %s",
                                        std::string(os::fact(content, "UPCXXThreadMode")).c_str(),
                                        std::string(os::fact(content, "UPCXXCodeMode")).c_str());
                  }
                  return false;
                });
  return identified;
}

int collect(dl_phdr_info* info, std::size_t, void* out) {
  module m{~std::uintptr_t{0}, 0, fnv_start, 0, info->dlpi_name, false, {}};
  bool identified = false;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    ElfW(Phdr) const& segment = info->dlpi_phdr[i];
    if (segment.p_type == PT_LOAD) {
      m.begin = std::min(m.begin, std::uintptr_t{info->dlpi_addr + segment.p_vaddr});
      m.end = std::max(m.end, std::uintptr_t{info->dlpi_addr + segment.p_vaddr + segment.p_memsz});
    } else if (segment.p_type == PT_NOTE) {
      identified = read_notes(*info, segment, m) || identified;
    }
  }
  if (!identified) {
    for (int i = 0; i < info->dlpi_phnum; ++i) {
      ElfW(Phdr) const& segment = info->dlpi_phdr[i];
      if (segment.p_type == PT_LOAD && (segment.p_flags & PF_X) != 0 && (segment.p_flags & PF_R) != 0) {
        m.content = fnv(m.content, reinterpret_cast<void const*>(info->dlpi_addr + segment.p_vaddr),
                        segment.p_filesz);
      }
    }
  }
  // The file's name, so that copies of one library differ whatever else is loaded;
  // empty for the program itself.
  std::size_t const folder = m.name.rfind('/');
  std::size_t const name_begin = folder == std::string::npos ? 0 : folder + 1;
  m.hash = fnv(m.content, m.name.data() + name_begin, m.name.size() - name_begin);
  m.stays = m.name.empty();
  if (m.begin < m.end) static_cast<module_table*>(out)->push_back(std::move(m));
  return 0;
}

std::mutex table_mutex;

/// Every table ever published stays alive: readers hold plain pointers, and modules change rarely.
std::vector<std::unique_ptr<module_table const>>& all_tables() {
  static auto* tables = new std::vector<std::unique_ptr<module_table const>>;
  return *tables;
}

/// Copies of one library under one file name get one hash from collect(); their paths tell them apart. A
/// module keeps the hash that it was published with: its tokens are known already. Another build of it in the
/// same place is another module.
void name_apart(module_table const* published, module_table& fresh) {
  auto const known = [&](module const& m) -> module const* {
    if (published == nullptr) return nullptr;
    auto const found = std::find_if(published->begin(), published->end(), [&](module const& old) {
      return old.begin == m.begin && old.end == m.end && old.content == m.content && old.name == m.name;
    });
    return found == published->end() ? nullptr : &*found;
  };
  std::vector<module*> newcomers;
  for (module& m : fresh) {
    if (module const* const old = known(m)) {
      m.hash = old->hash;
      m.stays = old->stays;
    } else {
      newcomers.push_back(&m);
    }
  }
  // Found out for all before one changes: else the order of addresses,
  // which differs between ranks, would decide.
  std::vector<module*> twins;
  for (module* const m : newcomers) {
    bool const twin = std::any_of(fresh.begin(), fresh.end(),
                                  [&](module const& other) { return &other != m && other.hash == m->hash; });
    if (twin) twins.push_back(m);
  }
  for (module* const m : twins) m->hash = fnv(m->hash, m->name.data(), m->name.size());
  for (module* const m : newcomers) m->hash += m->hash == 0 ? 1 : 0;
}

/// All parts of a program must agree on the modes; inside one module, the linker has seen to it.
void check_modes(module_table const& modules) {
  module const* first = nullptr;
  for (module const& m : modules) {
    if (m.modes.empty()) continue;
    if (first == nullptr) first = &m;
    if (m.modes == first->modes) continue;
    auto const name_of = [](module const& which) {
      return which.name.empty() ? std::string("the program") : which.name;
    };
    fatal("modes", "%s was compiled with %s, but %s with %s; compile all parts of a program in one mode",
          name_of(*first).c_str(), first->modes.c_str(), name_of(m).c_str(), m.modes.c_str());
  }
}

/// Where names go; null: nowhere. Guarded by the table's mutex.
module_names* published_names = nullptr;

/// Lets peers put names to our tokens. With the table's mutex held.
void publish_names(module_table const& modules) {
  if (published_names == nullptr) return;
  module_names& names = *published_names;
  std::uint32_t count = 0;
  for (module const& m : modules) {
    if (count == std::size(names.entries)) break;
    auto& e = names.entries[count++];
    e.hash = m.hash;
    std::size_t const skip = m.name.size() < sizeof e.name ? 0 : m.name.size() - sizeof e.name + 1;
    std::snprintf(e.name, sizeof e.name, "%s", m.name.empty() ? "the program itself" : m.name.c_str() + skip);
  }
  names.count.store(count, std::memory_order_release);
}

/// With the table's mutex held.
module_table const& publish(std::unique_ptr<module_table const> fresh) {
  newest_modules.store(fresh.get(), std::memory_order_release);
  all_tables().push_back(std::move(fresh));
  return *all_tables().back();
}

}  // namespace

module_table const& look_for_modules() {
  std::lock_guard const lock(table_mutex);
  auto fresh = std::make_unique<module_table>();
  dl_iterate_phdr(&collect, fresh.get());
  std::sort(fresh->begin(), fresh->end(), [](module const& a, module const& b) { return a.begin < b.begin; });
  check_modes(*fresh);
  name_apart(newest_modules.load(std::memory_order_relaxed), *fresh);
  publish_names(*fresh);
  return publish(std::move(fresh));
}

module_table const& keep_loaded(loaded_module const& module) {
  // Not under the mutex: who loads a library holds the loader's lock, and its constructors may ask for tokens.
  void* const handle = dlopen(module.name.c_str(), RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
  if (handle != nullptr) dlclose(handle);  // which unloads nothing any more
  std::lock_guard const lock(table_mutex);
  auto fresh = std::make_unique<module_table>(*newest_modules.load(std::memory_order_relaxed));
  for (loaded_module& each : *fresh) {
    if (each.begin == module.begin && each.hash == module.hash) each.stays = true;
  }
  return publish(std::move(fresh));
}

loaded_module const* find_address(module_table const& modules, std::uintptr_t address) noexcept {
  for (module const& m : modules) {
    if (address >= m.begin && address < m.end) return &m;
  }
  return nullptr;
}

loaded_module const* find_hash(module_table const& modules, std::uint32_t hash) noexcept {
  for (module const& m : modules) {
    if (m.hash == hash) return &m;
  }
  return nullptr;
}

void publish_module_names(module_names* where) {
  std::lock_guard const lock(table_mutex);
  published_names = where;
  if (module_table const* const known = known_modules()) publish_names(*known);
}

}  // namespace atl::engine
