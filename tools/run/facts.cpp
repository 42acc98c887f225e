#include "run/facts.hpp"

#include <elf.h>
#include <fcntl.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <string_view>

#include "base/os/elf_notes.hpp"
#include "base/os/unique_fd.hpp"

namespace atl::tools {
namespace {

constexpr std::size_t largest_notes = std::size_t{64} << 20;

bool read_at(int fd, std::uint64_t offset, void* into, std::size_t bytes) {
  return ::pread(fd, into, bytes, static_cast<off_t>(offset)) == static_cast<ssize_t>(bytes);
}

}  // namespace

std::string program_facts(std::string const& path) {
  os::unique_fd const fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  Elf64_Ehdr header{};
  if (!fd || !read_at(fd.get(), 0, &header, sizeof header)) return {};
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64) return {};
  std::string facts;
  for (int i = 0; i < header.e_phnum && facts.empty(); ++i) {
    Elf64_Phdr segment{};
    if (!read_at(fd.get(), header.e_phoff + static_cast<std::uint64_t>(i) * sizeof segment, &segment,
                 sizeof segment)) {
      return {};
    }
    if (segment.p_type != PT_NOTE || segment.p_filesz > largest_notes) continue;
    std::string notes(segment.p_filesz, '\0');
    if (!read_at(fd.get(), segment.p_offset, notes.data(), notes.size())) return {};
    os::find_note(notes.data(), notes.size(), segment.p_align,
                  [&](std::string_view name, std::uint32_t type, std::string_view content) {
                    if (name != os::facts_note_name || type != os::facts_note_type) return false;
                    facts = content;
                    return true;
                  });
  }
  return facts;
}

}  // namespace atl::tools
