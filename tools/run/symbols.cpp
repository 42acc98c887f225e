#include "run/symbols.hpp"

#include <elf.h>
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <sstream>
#include <string_view>

#include "base/error.hpp"
#include "base/os/unique_fd.hpp"

extern char** environ;

namespace atl::tools {
namespace {

/// One line of /proc/<pid>/maps.
struct mapping {
  std::uint64_t from = 0;
  std::uint64_t to = 0;
  std::uint64_t offset = 0;
  std::string path;
};

std::vector<mapping> read_maps(bootstrap::crash_report const& report) {
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

/// Output of a command, cut off after `patience`; nothing when it cannot be run.
bool capture(std::vector<std::string> const& words, std::string& output, std::chrono::milliseconds patience) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return false;
  os::unique_fd const in(ends[0]);
  os::unique_fd out(ends[1]);
  posix_spawn_file_actions_t files;
  ::posix_spawn_file_actions_init(&files);
  ::posix_spawn_file_actions_adddup2(&files, out.get(), STDOUT_FILENO);
  ::posix_spawn_file_actions_addopen(&files, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawnattr_t attributes;
  ::posix_spawnattr_init(&attributes);
  sigset_t none;
  ::sigemptyset(&none);
  ::posix_spawnattr_setsigmask(&attributes, &none);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
  std::vector<char*> arguments;
  arguments.reserve(words.size() + 1);
  for (auto const& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  pid_t pid = -1;
  int const failed = ::posix_spawnp(&pid, arguments[0], &files, &attributes, arguments.data(), environ);
  ::posix_spawn_file_actions_destroy(&files);
  ::posix_spawnattr_destroy(&attributes);
  out.reset();
  if (failed != 0) return false;
  auto const deadline = std::chrono::steady_clock::now() + patience;
  std::array<char, 4096> part;
  for (;;) {
    auto const left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    pollfd item{in.get(), POLLIN, 0};
    int const ready = left.count() > 0 ? ::poll(&item, 1, static_cast<int>(left.count())) : 0;
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) break;
    ssize_t const got = ::read(in.get(), part.data(), part.size());
    if (got <= 0) break;
    output.append(part.data(), static_cast<std::size_t>(got));
  }
  ::kill(pid, SIGKILL);
  ::waitpid(pid, nullptr, 0);
  return true;
}

std::string base_name(std::string const& path) {
  auto const slash = path.rfind('/');
  return slash == std::string::npos ? path : path.substr(slash + 1);
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

}  // namespace

void symbolizer::look_up(std::string const& module, std::vector<std::uint64_t> const& addresses) {
  std::vector<std::string> words{"addr2line", "-a", "-C", "-f", "-i", "-p", "-e", module};
  for (auto const address : addresses)
    words.push_back(format("0x%llx", static_cast<unsigned long long>(address)));
  for (auto const address : addresses)
    known_[{module, address}];  // also when nothing is found: do not ask again
  std::string output;
  have_tool_ = have_tool_ && capture(words, output, std::chrono::milliseconds(1500));
  // "0x0000000000001189: function at file.cpp:12", then " (inlined by) caller at file.cpp:20" for each
  // inlined call.
  std::istringstream in(output);
  std::vector<std::string>* into = nullptr;
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("0x")) {
      char* rest = nullptr;
      into = &known_[{module, std::strtoull(line.c_str(), &rest, 16)}];
      line.erase(0, static_cast<std::size_t>(rest - line.c_str()) + 2);
    } else if (constexpr std::string_view mark = " (inlined by) "; line.starts_with(mark)) {
      line.erase(0, mark.size());
    }
    if (into == nullptr || line.empty() || line.starts_with("??")) continue;
    if (auto const extra = line.find(" (discriminator"); extra != std::string::npos) line.erase(extra);
    // "at ??:?" and "at :?": only the name is known. It is the nearest exported one, so say where it comes
    // from.
    auto const at = line.rfind(" at ");
    if (at != std::string::npos && (line.ends_with(":?") || line.compare(at, 6, " at ??") == 0)) {
      line = line.substr(0, at) + " in " + base_name(module);
    }
    into->push_back(line);
  }
}

std::vector<std::string> symbolizer::names_of(code_place const& place, bool after_call) {
  if (place.module.empty()) return {format("0x%llx", static_cast<unsigned long long>(place.address))};
  // A return address is behind the call, possibly in the next line or even function.
  std::uint64_t const inside = place.address - (after_call ? 1 : 0);
  auto const found = known_.find({place.module, inside});
  if (found != known_.end() && !found->second.empty()) return found->second;
  return {base_name(place.module) + format("+0x%llx", static_cast<unsigned long long>(place.address))};
}

std::vector<std::string> symbolizer::describe(bootstrap::crash_report const& report) {
  auto const maps = read_maps(report);
  std::size_t const count = std::min<std::size_t>(report.frame_count, bootstrap::frame_limit);
  std::vector<code_place> places;
  std::map<std::string, std::vector<std::uint64_t>> unknown;
  auto const exact = [&](std::size_t i) { return i == 0 && report.first_is_exact != 0; };
  for (std::size_t i = 0; i < count; ++i) {
    places.push_back(locate(maps, report.frames[i]));
    code_place const& place = places.back();
    std::uint64_t const inside = place.address - (exact(i) ? 0 : 1);
    if (place.module.starts_with('/') && !known_.contains({place.module, inside})) {
      unknown[place.module].push_back(inside);
    }
  }
  for (auto const& [module, addresses] : unknown) look_up(module, addresses);
  std::vector<std::string> lines;
  // What abort() and the exception machinery do is not what went wrong.
  std::size_t first = 0;
  if (report.signal == SIGABRT || report.has_exception.load(std::memory_order_acquire) != 0) {
    while (first < count &&
           is_abort_machinery(places[first].module, names_of(places[first], !exact(first)).front())) {
      ++first;
    }
    if (first == count) first = 0;
  }
  for (std::size_t i = first; i < count; ++i) {
    for (std::string const& name : names_of(places[i], !exact(i))) {
      if (is_before_main(name)) return lines;
      lines.push_back(name);
      if (name == "main" || name.starts_with("main ") || name.starts_with("main.")) return lines;
    }
  }
  return lines;
}

}  // namespace atl::tools
