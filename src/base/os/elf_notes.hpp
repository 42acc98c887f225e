#pragma once

/// The notes of an ELF file: small records that programs carry, as in a PT_NOTE segment.

#include <elf.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <string_view>

#include <atoll/base/round_up.hpp>

namespace atl::os {

/// Calls `visit(name, type, content)` for every note in `bytes` bytes at `notes`; stops when it returns true.
/// `alignment` is the segment's.
template <typename Visit>
bool find_note(char const* notes, std::size_t bytes, std::size_t alignment, Visit const& visit) {
  std::size_t const unit = alignment == 8 ? 8 : 4;
  auto const padded = [unit](std::size_t size) { return round_up<std::size_t>(size, unit); };
  std::size_t at = 0;
  while (at + sizeof(Elf64_Nhdr) <= bytes) {
    Elf64_Nhdr header;  // the same in 32-bit files
    std::memcpy(&header, notes + at, sizeof header);
    std::size_t const content = at + padded(sizeof header + header.n_namesz);
    if (content + header.n_descsz > bytes) return false;
    std::string_view name(notes + at + sizeof header, header.n_namesz);
    if (name.ends_with('\0')) name.remove_suffix(1);
    if (visit(name, header.n_type, std::string_view(notes + content, header.n_descsz))) return true;
    at = padded(content + header.n_descsz);
  }
  return false;
}

/// Note with the facts that a program's files were compiled with (upcxx/detail/identity.hpp):
/// lines "UPCXXKey: value".
inline constexpr std::string_view facts_note_name = "UPCXX";
inline constexpr Elf64_Word facts_note_type = 1;
/// Note of each copy of the library itself, without content.
inline constexpr Elf64_Word library_note_type = 3;

/// Value of one fact; empty if it is not there.
inline std::string_view fact(std::string_view facts, std::string_view key) {
  for (std::size_t at = 0; at < facts.size();) {
    std::size_t const end = std::min(facts.find('\n', at), facts.size());
    std::string_view const line = facts.substr(at, end - at);
    if (line.starts_with(key) && line.substr(key.size()).starts_with(": "))
      return line.substr(key.size() + 2);
    at = end + 1;
  }
  return {};
}

}  // namespace atl::os
