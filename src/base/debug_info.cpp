// Reading debug information with elfutils' libdw.
//
// An address lies in a compilation unit, there in a function and perhaps in inlined calls. The line table gives
// the innermost place; an inlined call knows from which line of the function around it was made.

#include "base/debug_info.hpp"

#include <dlfcn.h>

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <type_traits>

#include "base/debug_info_api.hpp"

namespace atl {
namespace {

using libdw::address;
using libdw::entry;

struct loaded_library {
  libdw::functions calls{};
  bool good = false;
  std::string reason;  ///< name of the library, or why it cannot be used
};

loaded_library load() {
  loaded_library result;
  constexpr char const* name = "libdw.so.1";
  void* const handle = ::dlopen(name, RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    char const* const why = ::dlerror();
    result.reason = why != nullptr ? why : "cannot open libdw.so.1";
    return result;
  }
  result.good = true;
  result.reason = name;
  auto const find = [&](auto& into, char const* function) {
    into = reinterpret_cast<std::remove_reference_t<decltype(into)>>(::dlsym(handle, function));
    if (into != nullptr || !result.good) return;
    result.good = false;
    result.reason = std::string(name) + " has no " + function;
  };
  libdw::functions& f = result.calls;
  find(f.dwfl_begin, "dwfl_begin");
  find(f.dwfl_end, "dwfl_end");
  find(f.dwfl_report_offline, "dwfl_report_offline");
  find(f.dwfl_report_end, "dwfl_report_end");
  find(f.dwfl_module_getelf, "dwfl_module_getelf");
  find(f.dwfl_module_addrdie, "dwfl_module_addrdie");
  find(f.dwfl_module_nextcu, "dwfl_module_nextcu");
  find(f.dwfl_standard_find_debuginfo, "dwfl_standard_find_debuginfo");
  find(f.dwfl_build_id_find_debuginfo, "dwfl_build_id_find_debuginfo");
  find(f.dwfl_offline_section_address, "dwfl_offline_section_address");
  find(f.dwarf_haspc, "dwarf_haspc");
  find(f.dwarf_child, "dwarf_child");
  find(f.dwarf_siblingof, "dwarf_siblingof");
  find(f.dwarf_getscopes, "dwarf_getscopes");
  find(f.dwarf_getscopes_die, "dwarf_getscopes_die");
  find(f.dwarf_tag, "dwarf_tag");
  find(f.dwarf_diename, "dwarf_diename");
  find(f.dwarf_attr, "dwarf_attr");
  find(f.dwarf_attr_integrate, "dwarf_attr_integrate");
  find(f.dwarf_formstring, "dwarf_formstring");
  find(f.dwarf_formudata, "dwarf_formudata");
  find(f.dwarf_getsrc_die, "dwarf_getsrc_die");
  find(f.dwarf_lineno, "dwarf_lineno");
  find(f.dwarf_linesrc, "dwarf_linesrc");
  find(f.dwarf_getsrcfiles, "dwarf_getsrcfiles");
  find(f.dwarf_filesrc, "dwarf_filesrc");
  return result;
}

/// Opened at the first question and kept.
loaded_library const& library() {
  static loaded_library const loaded = load();
  return loaded;
}

/// The module's own file is all there is to find.
int find_no_elf(libdw::module*, void**, char const*, address, char**, void**) { return -1; }

/// Debug information in a file of its own, where distributions and `objcopy` put it. Where the user has a server
/// for it, the standard way may ask that and wait: a crash report must not.
int find_debuginfo(libdw::module* module, void** user, char const* name, address base, char const* file,
                   char const* link, std::uint32_t checksum, char** found) {
  char const* const servers = std::getenv("DEBUGINFOD_URLS");
  bool const by_id_only = servers != nullptr && *servers != '\0';
  auto* const find = by_id_only ? library().calls.dwfl_build_id_find_debuginfo
                                : library().calls.dwfl_standard_find_debuginfo;
  return find(module, user, name, base, file, link, checksum, found);
}

std::string text(char const* from) { return from != nullptr ? from : ""; }

/// The unit that an address lies in. Compilers that write no table of addresses (Clang) need the long way.
entry* unit_at(libdw::functions const& calls, libdw::module* module, address at, address& bias) {
  if (entry* const unit = calls.dwfl_module_addrdie(module, at, &bias)) return unit;
  entry* unit = nullptr;
  while ((unit = calls.dwfl_module_nextcu(module, unit, &bias)) != nullptr) {
    if (calls.dwarf_haspc(unit, at - bias) > 0) return unit;
  }
  return nullptr;
}

/// Linker's name where there is one: the other lacks scopes and parameters.
std::string name_of(libdw::functions const& calls, entry* of) {
  libdw::attribute attribute{};
  for (unsigned const kind : {libdw::at_linkage_name, libdw::at_old_linkage_name}) {
    if (calls.dwarf_attr_integrate(of, kind, &attribute) == nullptr) continue;
    if (char const* const name = calls.dwarf_formstring(&attribute)) return name;
  }
  return text(calls.dwarf_diename(of));
}

std::uint64_t number_of(libdw::functions const& calls, entry* of, unsigned kind) {
  libdw::attribute attribute{};
  std::uint64_t value = 0;
  bool const known =
      calls.dwarf_attr(of, kind, &attribute) != nullptr && calls.dwarf_formudata(&attribute, &value) == 0;
  return known ? value : 0;
}

/// A file's name as the line table has it, perhaps relative to the folder of the compilation.
std::string absolute(libdw::functions const& calls, entry* unit, char const* name) {
  if (name == nullptr || *name == '/') return text(name);
  libdw::attribute attribute{};
  bool const known = calls.dwarf_attr_integrate(unit, libdw::at_folder, &attribute) != nullptr;
  std::filesystem::path const folder = text(known ? calls.dwarf_formstring(&attribute) : nullptr);
  return (folder / name).lexically_normal().string();
}

/// Innermost entry below `around` that has the address. dwarf_getscopes leaves out all namespaces, since these have
/// no addresses themselves; Clang writes functions down there.
bool find_innermost(libdw::functions const& calls, entry* around, address at, entry& innermost) {
  entry child{};
  if (calls.dwarf_child(around, &child) != 0) return false;
  do {
    if (calls.dwarf_tag(&child) == libdw::tag_namespace) {
      if (find_innermost(calls, &child, at, innermost)) return true;
    } else if (calls.dwarf_haspc(&child, at) > 0) {
      innermost = child;
      find_innermost(calls, &child, at, innermost);
      return true;
    }
  } while (calls.dwarf_siblingof(&child, &child) == 0);
  return false;
}

struct free_memory {
  void operator()(entry* scopes) const noexcept { std::free(scopes); }
};
using scope_list = std::unique_ptr<entry[], free_memory>;

std::vector<debug_line> lines_at(libdw::functions const& calls, libdw::module* module, address at) {
  address bias = 0;
  entry* const unit = unit_at(calls, module, at, bias);
  if (unit == nullptr) return {};
  debug_line place;
  if (libdw::source_line* const line = calls.dwarf_getsrc_die(unit, at - bias)) {
    place.file = absolute(calls, unit, calls.dwarf_linesrc(line, nullptr, nullptr));
    if (calls.dwarf_lineno(line, &place.line) != 0 || place.line == 0) place.file.clear();
  }
  // Around an inlined call, the first list goes on with the scopes of its definition; those of the place follow
  // from the innermost entry.
  entry* raw = nullptr;
  int const found = calls.dwarf_getscopes(unit, at - bias, &raw);
  scope_list const by_address(found > 0 ? raw : nullptr);
  entry innermost{};
  if (found > 1) {
    innermost = by_address[0];  // the last one is the unit
  } else if (!find_innermost(calls, unit, at - bias, innermost)) {
    if (place.file.empty()) return {};
    return {place};
  }
  raw = nullptr;
  int const count = calls.dwarf_getscopes_die(&innermost, &raw);
  scope_list const scopes(count > 0 ? raw : nullptr);
  std::vector<debug_line> lines;
  for (int i = 0; i < count; ++i) {
    entry* const scope = &scopes[static_cast<std::size_t>(i)];
    int const tag = calls.dwarf_tag(scope);
    if (tag != libdw::tag_inlined && tag != libdw::tag_function) continue;
    place.symbol = name_of(calls, scope);
    lines.push_back(place);
    if (tag == libdw::tag_function) break;
    libdw::file_table* files = nullptr;
    std::size_t file_n = 0;
    std::uint64_t const file = number_of(calls, scope, libdw::at_call_file);
    place = {};
    place.line = static_cast<int>(number_of(calls, scope, libdw::at_call_line));
    if (place.line != 0 && calls.dwarf_getsrcfiles(unit, &files, &file_n) == 0 && file < file_n) {
      place.file = absolute(calls, unit, calls.dwarf_filesrc(files, file, nullptr, nullptr));
    }
  }
  return lines;
}

}  // namespace

bool have_debug_info_reader(std::string& reason) {
  reason = library().reason;
  return library().good;
}

std::vector<std::vector<debug_line>> debug_lines(std::string const& file,
                                                 std::vector<std::uint64_t> const& addresses) {
  std::vector<std::vector<debug_line>> result(addresses.size());
  if (!library().good) return result;
  libdw::functions const& calls = library().calls;
  libdw::callbacks const how{&find_no_elf, &find_debuginfo, calls.dwfl_offline_section_address, nullptr};
  libdw::session* const session = calls.dwfl_begin(&how);
  if (session == nullptr) return result;
  libdw::module* const module = calls.dwfl_report_offline(session, file.c_str(), file.c_str(), -1);
  calls.dwfl_report_end(session, nullptr, nullptr);
  // Where libdw has put the module.
  address base = 0;
  if (module != nullptr && calls.dwfl_module_getelf(module, &base) != nullptr) {
    for (std::size_t i = 0; i < addresses.size(); ++i) {
      result[i] = lines_at(calls, module, addresses[i] + base);
    }
  }
  calls.dwfl_end(session);
  return result;
}

}  // namespace atl
