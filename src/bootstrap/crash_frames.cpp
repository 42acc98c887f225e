#include "bootstrap/crash_frames.hpp"

#include <elf.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <sstream>
#include <string_view>

#include "base/error.hpp"
#include "base/os/unique_fd.hpp"

namespace atl::bootstrap {
namespace {

/// One line of /proc/<pid>/maps.
struct mapping {
  std::uint64_t from = 0;
  std::uint64_t to = 0;
  std::uint64_t offset = 0;
  std::string path;
};

std::vector<mapping> read_maps(crash_report const& report) {
  std::vector<mapping> maps;
  std::size_t const bytes = std::min<std::size_t>(report.maps_bytes, sizeof report.maps);
  std::istringstream in(std::string(report.maps, bytes));
  for (std::string line; std::getline(in, line);) {
    mapping m;
    int path_at = 0;
    unsigned long from = 0;
    unsigned long to = 0;
    unsigned long offset = 0;
    if (std::sscanf(line.c_str(), "%lx-%lx %*s %lx %*s %*s %n", &from, &to, &offset, &path_at) < 3) continue;
    m.from = from;
    m.to = to;
    m.offset = offset;
    if (path_at > 0) m.path = line.substr(static_cast<std::size_t>(path_at));
    maps.push_back(m);
  }
  return maps;
}

/// Symbol tables count in virtual addresses, mappings in file offsets; the program headers relate the two.
std::uint64_t to_virtual(std::string const& module, std::uint64_t offset) {
  os::unique_fd const fd(::open(module.c_str(), O_RDONLY | O_CLOEXEC));
  Elf64_Ehdr header{};
  if (!fd || ::pread(fd.get(), &header, sizeof header, 0) != sizeof header) return offset;
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64)
    return offset;
  for (int i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr segment{};
    auto const at = static_cast<off_t>(header.e_phoff) + i * static_cast<off_t>(sizeof segment);
    if (::pread(fd.get(), &segment, sizeof segment, at) != sizeof segment) break;
    if (segment.p_type == PT_LOAD && offset >= segment.p_offset &&
        offset < segment.p_offset + segment.p_filesz) {
      return offset - segment.p_offset + segment.p_vaddr;
    }
  }
  return offset;
}

code_place locate(std::vector<mapping> const& maps, std::uint64_t address) {
  for (auto const& m : maps) {
    if (address < m.from || address >= m.to) continue;
    return {m.path,
            m.path.starts_with('/') ? to_virtual(m.path, address - m.from + m.offset) : address - m.from};
  }
  return {"", address};
}

bool is_abort_machinery(std::string const& module, std::string const& name) {
  std::string const file = base_name(module);
  return file.starts_with("libc.so") || file.starts_with("libstdc++.so") || file.starts_with("libc++") ||
         name.find("on_terminate") != std::string::npos;
}

/// Frames of the C library below main or below a thread's function.
bool is_before_main(std::string const& name) {
  for (std::string_view const prefix : {"__libc_start", "_start ", "start_thread", "clone", "__clone"}) {
    if (name.starts_with(prefix)) return true;
  }
  return false;
}

std::string text_of(code_line const& line, std::string const& module) {
  // Without debug information the name is the nearest one known, so say where it comes from.
  if (line.file.empty()) return line.function + " in " + base_name(module);
  return format("%s at %s:%d", line.function.empty() ? "closure" : line.function.c_str(), line.file.c_str(),
                line.line);
}

}  // namespace

std::vector<std::string> symbolizer::names_of(code_place const& place) const {
  if (place.module.empty()) return {format("0x%llx", static_cast<unsigned long long>(place.address))};
  std::vector<std::string> lines;
  for (code_line const& line : names_.at(place)) lines.push_back(text_of(line, place.module));
  if (lines.empty()) {
    lines.push_back(base_name(place.module) +
                    format("+0x%llx", static_cast<unsigned long long>(place.address)));
  }
  return lines;
}

std::vector<std::string> symbolizer::describe(crash_report const& report) {
  auto const maps = read_maps(report);
  std::size_t const count = std::min<std::size_t>(report.frame_count, frame_limit);
  std::vector<code_place> places;
  places.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    // A return address is behind the call, possibly in the next line or even function.
    bool const exact = i == 0 && report.first_is_exact != 0;
    places.push_back(locate(maps, report.frames[i] - (exact ? 0 : 1)));
  }
  names_.look_up(places);
  std::vector<std::string> lines;
  // What abort() and the exception machinery do is not what went wrong.
  std::size_t first = 0;
  if (report.signal == SIGABRT || report.has_exception.load(std::memory_order_acquire) != 0) {
    while (first < count && is_abort_machinery(places[first].module, names_of(places[first]).front())) {
      ++first;
    }
    if (first == count) first = 0;
  }
  for (std::size_t i = first; i < count; ++i) {
    for (std::string const& name : names_of(places[i])) {
      if (is_before_main(name)) return lines;
      lines.push_back(name);
      if (name == "main" || name.starts_with("main ") || name.starts_with("main.")) return lines;
    }
  }
  return lines;
}

}  // namespace atl::bootstrap
