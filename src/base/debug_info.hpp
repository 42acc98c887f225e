#pragma once

/// Lines of source for code addresses, from debug information.

#include <cstdint>
#include <string>
#include <vector>

namespace atl {

/// A function around an address, and the place there.
struct debug_line {
  std::string symbol;  ///< mangled where the debug information says so; empty: unknown
  std::string file;    ///< absolute; empty: unknown
  int line = 0;
};

/// For each of the addresses, as the symbol table of `file` counts: the innermost function there, then the
/// callers into which it was inlined. Empty lists where libdw cannot be opened, or the file has no debug
/// information and none of its own is installed. Reads files and never the network.
std::vector<std::vector<debug_line>> debug_lines(std::string const& file,
                                                 std::vector<std::uint64_t> const& addresses);

/// Whether libdw is there: its file name, or the loader's complaint in `reason`.
bool have_debug_info_reader(std::string& reason);

}  // namespace atl
