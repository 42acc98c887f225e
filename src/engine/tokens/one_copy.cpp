// Two copies of the library in one process (a static one in the program, another under its plugin) have a
// world each: calls of the second find nothing initialised, or something else than the caller has. Every copy
// carries a note, and the one that is loaded last stops the job.

#include "engine/tokens/one_copy.hpp"

#include <link.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "base/os/elf_notes.hpp"

__asm__(
    ".pushsection .note.upcxx.library, \"a\", %note\n"
    ".balign 4\n"
    ".long 6, 0, 3\n"
    ".asciz \"UPCXX\"\n"
    ".balign 4\n"
    ".popsection\n");

namespace atl::engine {
namespace {

struct copies {
  std::string first;
  int count = 0;
};

int look_at(dl_phdr_info* info, std::size_t, void* out) {
  auto& found = *static_cast<copies*>(out);
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    ElfW(Phdr) const& segment = info->dlpi_phdr[i];
    if (segment.p_type != PT_NOTE) continue;
    bool const library =
        os::find_note(reinterpret_cast<char const*>(info->dlpi_addr + segment.p_vaddr), segment.p_memsz,
                      segment.p_align, [](std::string_view name, std::uint32_t type, std::string_view) {
                        return name == os::facts_note_name && type == os::library_note_type;
                      });
    if (!library) continue;
    std::string const name = *info->dlpi_name != '\0' ? info->dlpi_name : "the program";
    if (++found.count == 1) {
      found.first = name;
      continue;
    }
    fatal("modules",
          "this process has two copies of the library, in %s and in %s. "
          "Link all parts of a program with the shared libatoll.so; "
          "a static libatoll.a serves programs without shared libraries of their own",
          found.first.c_str(), name.c_str());
  }
  return 0;
}

[[gnu::constructor]] void check_when_loaded() { require_one_copy(); }

}  // namespace

void require_one_copy() {
  copies found;
  dl_iterate_phdr(&look_at, &found);
}

}  // namespace atl::engine
