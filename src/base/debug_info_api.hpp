#pragma once

/// What we use of elfutils' libdw, which is opened at run time: neither building nor running needs it. A unit
/// test compares this with the library's own headers where those are installed (Debian: libdw-dev).

#include <cstddef>
#include <cstdint>

namespace atl::libdw {

struct session;      // Dwfl
struct module;       // Dwfl_Module
struct source_line;  // Dwarf_Line
struct file_table;   // Dwarf_Files

using address = std::uint64_t;

/// Dwarf_Die: an entry of the debug information.
struct entry {
  void* at;
  void* unit;
  void* abbreviation;
  long padding;
};

/// Dwarf_Attribute.
struct attribute {
  unsigned code;
  unsigned form;
  unsigned char* value;
  void* unit;
};

using find_elf_function = int (*)(module*, void**, char const*, address, char**, void**);
using find_debug_function = int (*)(module*, void**, char const*, address, char const*, char const*,
                                    std::uint32_t, char**);
using section_function = int (*)(module*, void**, char const*, address, char const*, std::uint32_t,
                                 void const*, address*);

/// Dwfl_Callbacks.
struct callbacks {
  find_elf_function find_elf;
  find_debug_function find_debuginfo;
  section_function section_address;
  char** debuginfo_path;
};

// DW_TAG_... and DW_AT_...
inline constexpr int tag_inlined = 0x1d;
inline constexpr int tag_function = 0x2e;
inline constexpr int tag_namespace = 0x39;
inline constexpr unsigned at_linkage_name = 0x6e;
inline constexpr unsigned at_old_linkage_name = 0x2007;
inline constexpr unsigned at_folder = 0x1b;  ///< DW_AT_comp_dir
inline constexpr unsigned at_call_file = 0x58;
inline constexpr unsigned at_call_line = 0x59;

/// The functions, by their names in libdw.
struct functions {
  session* (*dwfl_begin)(callbacks const*);
  void (*dwfl_end)(session*);
  module* (*dwfl_report_offline)(session*, char const* name, char const* file, int descriptor);
  int (*dwfl_report_end)(session*, void* removed, void* argument);
  void* (*dwfl_module_getelf)(module*, address* bias);
  entry* (*dwfl_module_addrdie)(module*, address, address* bias);
  entry* (*dwfl_module_nextcu)(module*, entry* last, address* bias);
  find_debug_function dwfl_standard_find_debuginfo;
  find_debug_function dwfl_build_id_find_debuginfo;
  section_function dwfl_offline_section_address;
  int (*dwarf_haspc)(entry*, address);
  int (*dwarf_child)(entry*, entry* result);
  int (*dwarf_siblingof)(entry*, entry* result);
  int (*dwarf_getscopes)(entry* unit, address, entry** scopes);
  int (*dwarf_getscopes_die)(entry*, entry** scopes);
  int (*dwarf_tag)(entry*);
  char const* (*dwarf_diename)(entry*);
  attribute* (*dwarf_attr)(entry*, unsigned name, attribute* result);
  attribute* (*dwarf_attr_integrate)(entry*, unsigned name, attribute* result);
  char const* (*dwarf_formstring)(attribute*);
  int (*dwarf_formudata)(attribute*, std::uint64_t* result);
  source_line* (*dwarf_getsrc_die)(entry* unit, address);
  int (*dwarf_lineno)(source_line*, int* result);
  char const* (*dwarf_linesrc)(source_line*, std::uint64_t* time, std::uint64_t* bytes);
  int (*dwarf_getsrcfiles)(entry* unit, file_table** files, std::size_t* count);
  char const* (*dwarf_filesrc)(file_table*, std::size_t index, std::uint64_t* time, std::uint64_t* bytes);
};

}  // namespace atl::libdw
