#include "base/symbols.hpp"

#include <cxxabi.h>
#include <elf.h>
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <sstream>

#include "base/error.hpp"
#include "base/os/unique_fd.hpp"

extern char** environ;

namespace atl {
namespace {

/// Debug information of large programs takes a while to read, and the machine may be busy.
constexpr std::chrono::milliseconds patience{5000};

/// Output of a command, cut off after `patience`; false when it cannot be run.
bool capture(std::vector<std::string> const& words, std::string& output) {
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

/// A file in memory, read only.
class mapped_file {
 public:
  explicit mapped_file(std::string const& path) {
    os::unique_fd const fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    struct stat status {};
    if (!fd || ::fstat(fd.get(), &status) != 0 || status.st_size <= 0) return;
    bytes_ = static_cast<std::size_t>(status.st_size);
    memory_ = ::mmap(nullptr, bytes_, PROT_READ, MAP_PRIVATE, fd.get(), 0);
    if (memory_ == MAP_FAILED) bytes_ = 0;
  }
  mapped_file(mapped_file const&) = delete;
  mapped_file& operator=(mapped_file const&) = delete;
  ~mapped_file() {
    if (bytes_ != 0) ::munmap(memory_, bytes_);
  }

  /// `count` objects at `offset`, or null if they do not lie in the file.
  template <class T>
  T const* at(std::uint64_t offset, std::uint64_t count = 1) const {
    if (offset > bytes_ || count > (bytes_ - offset) / sizeof(T)) return nullptr;
    return reinterpret_cast<T const*>(static_cast<std::byte const*>(memory_) + offset);
  }

 private:
  void* memory_ = nullptr;
  std::size_t bytes_ = 0;
};

/// The larger symbol table of a file: .symtab, or .dynsym where that was stripped.
struct symbol_table {
  Elf64_Sym const* symbols = nullptr;
  std::uint64_t count = 0;
  char const* names = nullptr;
  std::uint64_t names_bytes = 0;

  explicit symbol_table(mapped_file const& file) {
    auto const* const header = file.at<Elf64_Ehdr>(0);
    if (header == nullptr || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 ||
        header->e_ident[EI_CLASS] != ELFCLASS64) {
      return;
    }
    auto const* const sections = file.at<Elf64_Shdr>(header->e_shoff, header->e_shnum);
    if (sections == nullptr) return;
    for (std::uint32_t const wanted : {std::uint32_t{SHT_SYMTAB}, std::uint32_t{SHT_DYNSYM}}) {
      for (int i = 0; i < header->e_shnum; ++i) {
        Elf64_Shdr const& section = sections[i];
        if (section.sh_type != wanted || section.sh_link >= header->e_shnum) continue;
        Elf64_Shdr const& strings = sections[section.sh_link];
        count = section.sh_size / sizeof(Elf64_Sym);
        symbols = file.at<Elf64_Sym>(section.sh_offset, count);
        names_bytes = strings.sh_size;
        names = file.at<char>(strings.sh_offset, names_bytes);
        if (symbols != nullptr && names != nullptr) return;
        symbols = nullptr;
      }
    }
  }

  std::string name_at(std::uint64_t address) const {
    for (std::uint64_t i = 0; symbols != nullptr && i < count; ++i) {
      Elf64_Sym const& s = symbols[i];
      if (ELF64_ST_TYPE(s.st_info) != STT_FUNC || address < s.st_value || address >= s.st_value + s.st_size ||
          s.st_name >= names_bytes) {
        continue;
      }
      return {names + s.st_name, ::strnlen(names + s.st_name, names_bytes - s.st_name)};
    }
    return {};
  }
};

/// Without what the compiler adds to the parts of a function that it sets apart, and without the inline
/// namespaces of the modes.
std::string readable(std::string const& symbol) {
  std::string text = demangle(symbol.substr(0, symbol.find('.', 1)));
  for (std::string_view const mode : {"seq_debug::", "seq_opt::", "par_debug::", "par_opt::"}) {
    for (auto at = text.find(mode); at != std::string::npos; at = text.find(mode, at)) {
      text.erase(at, mode.size());
    }
  }
  return text;
}

}  // namespace

std::string demangle(std::string const& symbol) {
  int status = 0;
  char* const text = abi::__cxa_demangle(symbol.c_str(), nullptr, nullptr, &status);
  std::string result = status == 0 && text != nullptr ? text : symbol;
  std::free(text);
  return result;
}

std::string base_name(std::string const& path) {
  auto const slash = path.rfind('/');
  return slash == std::string::npos ? path : path.substr(slash + 1);
}

void code_names::look_up(std::vector<code_place> const& places) {
  std::map<std::string, std::vector<std::uint64_t>> unknown;
  for (auto const& place : places) {
    if (!place.module.starts_with('/') || known_.contains(place)) continue;
    known_[place];  // also when nothing is found: do not ask again
    unknown[place.module].push_back(place.address);
  }
  for (auto const& [module, addresses] : unknown) {
    ask_tool(module, addresses);
    ask_symbol_table(module, addresses);
  }
}

void code_names::ask_tool(std::string const& module, std::vector<std::uint64_t> const& addresses) {
  if (!have_tool_) return;
  std::vector<std::string> words{"addr2line", "-a", "-f", "-i", "-e", module};
  for (auto const address : addresses)
    words.push_back(format("0x%llx", static_cast<unsigned long long>(address)));
  std::string output;
  have_tool_ = capture(words, output);
  // The address, then a line with the function and one with "file:line" for it and for each caller into which
  // it was inlined.
  std::istringstream in(output);
  std::vector<code_line>* into = nullptr;
  for (std::string first; std::getline(in, first);) {
    if (first.starts_with("0x")) {
      into = &known_[{module, std::strtoull(first.c_str(), nullptr, 16)}];
      continue;
    }
    std::string second;
    if (into == nullptr || !std::getline(in, second) || first.starts_with("??")) continue;
    code_line found{first, readable(first), "", 0};
    if (auto const extra = second.find(" (discriminator"); extra != std::string::npos) second.erase(extra);
    auto const colon = second.rfind(':');
    // "??:?" and ":?": only the name is known.
    if (colon != std::string::npos && colon != 0 && !second.starts_with("??")) {
      found.line = std::atoi(second.c_str() + colon + 1);
      if (found.line != 0) found.file = second.substr(0, colon);
    }
    into->push_back(std::move(found));
  }
}

void code_names::ask_symbol_table(std::string const& module, std::vector<std::uint64_t> const& addresses) {
  mapped_file const file(module);
  symbol_table const table(file);
  for (std::uint64_t const address : addresses) {
    std::vector<code_line>& lines = known_[{module, address}];
    std::string const symbol = table.name_at(address);
    if (symbol.empty()) continue;
    if (lines.empty()) lines.push_back({symbol, "", "", 0});
    // addr2line names an inlined closure after the function around it, which comes last.
    if (lines.size() > 1 && lines.front().symbol == symbol)
      lines.front().symbol = lines.front().function = "";
    lines.back().function = readable(symbol);
  }
}

std::vector<code_line> const& code_names::at(code_place const& place) const {
  static std::vector<code_line> const nothing;
  auto const found = known_.find(place);
  return found == known_.end() ? nothing : found->second;
}

}  // namespace atl
