// Our declarations of libdw against the library's own headers.

#include "base/debug_info_api.hpp"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>
#include <gtest/gtest.h>

#include <cstddef>

#include "support/parameters.hpp"

namespace {

namespace ours = atl::libdw;
using support::parameters_of;

static_assert(sizeof(ours::entry) == sizeof(Dwarf_Die) &&
              offsetof(ours::entry, unit) == offsetof(Dwarf_Die, cu));
static_assert(sizeof(ours::attribute) == sizeof(Dwarf_Attribute) &&
              offsetof(ours::attribute, value) == offsetof(Dwarf_Attribute, valp));
static_assert(sizeof(ours::callbacks) == sizeof(Dwfl_Callbacks) &&
              offsetof(ours::callbacks, section_address) == offsetof(Dwfl_Callbacks, section_address));
static_assert(sizeof(ours::address) == sizeof(Dwarf_Addr) && sizeof(std::size_t) == sizeof(Dwarf_Word));

TEST(libdw_api, constants_are_those_of_the_header) {
  EXPECT_EQ(ours::tag_inlined, DW_TAG_inlined_subroutine);
  EXPECT_EQ(ours::tag_namespace, DW_TAG_namespace);
  EXPECT_EQ(ours::tag_function, DW_TAG_subprogram);
  EXPECT_EQ(ours::at_linkage_name, DW_AT_linkage_name);
  EXPECT_EQ(ours::at_old_linkage_name, DW_AT_MIPS_linkage_name);
  EXPECT_EQ(ours::at_folder, DW_AT_comp_dir);
  EXPECT_EQ(ours::at_call_file, DW_AT_call_file);
  EXPECT_EQ(ours::at_call_line, DW_AT_call_line);
}

#define EXPECT_ALIKE(name) EXPECT_EQ(parameters_of(decltype(ours::functions::name){}), parameters_of(&::name))

TEST(libdw_api, functions_take_as_many_parameters) {
  EXPECT_ALIKE(dwfl_begin);
  EXPECT_ALIKE(dwfl_end);
  EXPECT_ALIKE(dwfl_report_offline);
  EXPECT_ALIKE(dwfl_report_end);
  EXPECT_ALIKE(dwfl_module_getelf);
  EXPECT_ALIKE(dwfl_module_addrdie);
  EXPECT_ALIKE(dwfl_module_nextcu);
  EXPECT_ALIKE(dwfl_standard_find_debuginfo);
  EXPECT_ALIKE(dwfl_build_id_find_debuginfo);
  EXPECT_ALIKE(dwfl_offline_section_address);
  EXPECT_ALIKE(dwarf_haspc);
  EXPECT_ALIKE(dwarf_child);
  EXPECT_ALIKE(dwarf_siblingof);
  EXPECT_ALIKE(dwarf_getscopes);
  EXPECT_ALIKE(dwarf_getscopes_die);
  EXPECT_ALIKE(dwarf_tag);
  EXPECT_ALIKE(dwarf_diename);
  EXPECT_ALIKE(dwarf_attr);
  EXPECT_ALIKE(dwarf_attr_integrate);
  EXPECT_ALIKE(dwarf_formstring);
  EXPECT_ALIKE(dwarf_formudata);
  EXPECT_ALIKE(dwarf_getsrc_die);
  EXPECT_ALIKE(dwarf_lineno);
  EXPECT_ALIKE(dwarf_linesrc);
  EXPECT_ALIKE(dwarf_getsrcfiles);
  EXPECT_ALIKE(dwarf_filesrc);
}

}  // namespace
