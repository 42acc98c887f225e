#include "base/symbols.hpp"

#include <cxxabi.h>
#include <elf.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

#include "base/debug_info.hpp"
#include "base/os/unique_fd.hpp"

namespace atl {
namespace {

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

  std::string name_at(std::uint64_t place) const {
    for (std::uint64_t i = 0; symbols != nullptr && i < count; ++i) {
      Elf64_Sym const& s = symbols[i];
      if (ELF64_ST_TYPE(s.st_info) != STT_FUNC || place < s.st_value || place >= s.st_value + s.st_size ||
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
    ask_debug_info(module, addresses);
    ask_symbol_table(module, addresses);
  }
}

void code_names::ask_debug_info(std::string const& module, std::vector<std::uint64_t> const& addresses) {
  auto const found = debug_lines(module, addresses);
  for (std::size_t i = 0; i < addresses.size(); ++i) {
    std::vector<code_line>& into = known_[{module, addresses[i]}];
    for (debug_line const& line : found[i]) {
      into.push_back({line.symbol, readable(line.symbol), line.file, line.file.empty() ? 0 : line.line});
    }
  }
}

void code_names::ask_symbol_table(std::string const& module, std::vector<std::uint64_t> const& addresses) {
  mapped_file const file(module);
  symbol_table const table(file);
  for (std::uint64_t const address : addresses) {
    std::vector<code_line>& lines = known_[{module, address}];
    std::string const symbol = table.name_at(address);
    if (symbol.empty()) continue;
    if (lines.empty()) lines.emplace_back();
    // The outermost function is the one that has an address: debug information may lack its scopes (Clang's with -g1).
    lines.back().symbol = symbol;
    lines.back().function = readable(symbol);
  }
}

std::vector<code_line> const& code_names::at(code_place const& place) const {
  static std::vector<code_line> const nothing;
  auto const found = known_.find(place);
  return found == known_.end() ? nothing : found->second;
}

}  // namespace atl
