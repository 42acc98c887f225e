// Finding the place in the program from which the library was called.
//
// A check fails somewhere in our headers, often inlined into the function of the user, often inside a
// callback of the user's inside a call of ours. What helps is the innermost line that the user wrote. Which
// functions are ours is decided by the file, and without debug information by the (mangled) names.

#include "base/call_site.hpp"

#include <execinfo.h>
#include <link.h>
#include <unistd.h>

#include <array>
#include <string_view>

#include "base/error.hpp"

namespace atl {
namespace {

/// The first of its outputs finds the module of the second.
struct module_search {
  code_place place;
  std::uint64_t address;
};

std::string program_path() {
  std::array<char, 4096> path{};
  return ::readlink("/proc/self/exe", path.data(), path.size() - 1) > 0 ? path.data() : "";
}

int look_into(dl_phdr_info* info, std::size_t, void* context) {
  auto& search = *static_cast<module_search*>(context);
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    auto const& segment = info->dlpi_phdr[i];
    std::uint64_t const from = info->dlpi_addr + segment.p_vaddr;
    if (segment.p_type != PT_LOAD || search.address < from || search.address >= from + segment.p_memsz) {
      continue;
    }
    search.place.module =
        info->dlpi_name == nullptr || *info->dlpi_name == '\0' ? program_path() : info->dlpi_name;
    search.place.address = search.address - info->dlpi_addr;
    return 1;
  }
  return 0;
}

code_place place_of(void const* return_address) {
  // Behind the call: possibly in the next line, or even function.
  module_search search{{}, reinterpret_cast<std::uint64_t>(return_address) - 1};
  ::dl_iterate_phdr(look_into, &search);
  return search.place;
}

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

bool is_foreign_module(std::string const& path) {
  std::string const file = base_name(path);
  for (std::string_view const prefix :
       {"libatoll.so", "libc.so", "libstdc++.so", "libc++", "libm.so", "libpthread", "libgcc_s", "ld-linux",
        "libasan", "libubsan", "libtsan", "liblsan"}) {
    if (file.starts_with(prefix)) return true;
  }
  return false;
}

/// By the file where it is known, since names are then less certain: see code_line.
bool is_of_program(code_line const& line) {
  std::string_view symbol = line.symbol;
  bool const mangled = symbol.starts_with("_Z");
  if (mangled) {
    symbol.remove_prefix(2);
    // Local to a function, nested, const, volatile, reference-qualified.
    while (!symbol.empty() && contains("ZNKVRO", symbol.substr(0, 1))) symbol.remove_prefix(1);
    if (symbol.starts_with("3atl")) return false;
  }
  if (!line.file.empty()) {
    for (std::string_view const folder : {"/include/upcxx/", "/include/atoll/", "/include/c++/", "/sysdeps/",
                                          "/csu/", "/nptl/", "libsanitizer"}) {
      if (contains(line.file, folder)) return false;
    }
    return true;
  }
  // Clang puts the runtime of its sanitizers, which stand in for functions of libc, into the program.
  if (!mangled) return !symbol.empty() && symbol != "backtrace" && !contains(symbol, "__interceptor_");
  // A name cannot begin with a substitution other than those of namespace std.
  for (std::string_view const prefix : {"5upcxx", "S", "9__gnu_cxx", "10__cxxabiv1"}) {
    if (symbol.starts_with(prefix)) return false;
  }
  return true;
}

/// What starts programs and threads.
bool is_before_main(code_line const& line) {
  for (std::string_view const prefix : {"__libc_start", "_start", "start_thread", "clone", "__clone"}) {
    if (line.symbol.starts_with(prefix)) return true;
  }
  return false;
}

}  // namespace

std::vector<void*> return_addresses() {
  std::vector<void*> addresses(64);
  int const found = ::backtrace(addresses.data(), static_cast<int>(addresses.size()));
  addresses.resize(static_cast<std::size_t>(found > 0 ? found : 0));
  return addresses;
}

std::vector<code_line> program_lines(std::vector<void*> const& addresses, std::size_t most,
                                     code_names& names) {
  std::vector<code_place> places;
  for (void const* const address : addresses) {
    code_place place = place_of(address);
    if (!is_foreign_module(place.module)) places.push_back(std::move(place));
  }
  names.look_up(places);
  std::vector<code_line> lines;
  for (auto const& place : places) {
    for (code_line const& line : names.at(place)) {
      if (lines.size() == most || is_before_main(line)) return lines;
      if (is_of_program(line)) lines.push_back(line);
      if (line.symbol == "main") return lines;
    }
  }
  return lines;
}

std::string to_string(code_line const& line) {
  if (line.file.empty()) return line.function;
  if (line.function.empty()) return format("%s:%d", line.file.c_str(), line.line);
  return format("%s (%s:%d)", line.function.c_str(), line.file.c_str(), line.line);
}

std::string call_site() {
  code_names names;
  std::string text;
  for (code_line const& line : program_lines(return_addresses(), 8, names)) {
    text += text.empty() ? "  called from " : "         from ";
    text += to_string(line) + "\n";
  }
  return text;
}

}  // namespace atl
