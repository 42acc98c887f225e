#pragma once

/// Names for code addresses, from debug information where there is some, else from the symbol table.

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace atl {

/// A code address as a place in a file that outlives the process.
struct code_place {
  std::string module;         ///< path, or "[vdso]" and the like; empty: unknown
  std::uint64_t address = 0;  ///< as the module's symbol table counts

  friend auto operator<=>(code_place const&, code_place const&) = default;
};

/// A function that the address lies in, and the line there. For inlined functions, debug information has
/// only short names, such as "operator()" for a closure.
struct code_line {
  std::string symbol;    ///< mangled, or as the debug information has it; empty: unknown
  std::string function;  ///< for people; empty: unknown
  std::string file;      ///< empty without debug information
  int line = 0;
};

/// Looks names up and remembers them.
class code_names {
 public:
  /// Asks for many places at once: each module is read once. Repeated places cost nothing.
  void look_up(std::vector<code_place> const& places);

  /// The function at a place, then the callers into which it was inlined. Empty if nothing is known or the
  /// place was not looked up.
  std::vector<code_line> const& at(code_place const& place) const;

 private:
  void ask_debug_info(std::string const& module, std::vector<std::uint64_t> const& addresses);
  void ask_symbol_table(std::string const& module, std::vector<std::uint64_t> const& addresses);

  std::map<code_place, std::vector<code_line>> known_;
};

/// "f(int)" of "_Z1fi"; other texts unchanged.
std::string demangle(std::string const& symbol);

/// The part of a path after the last slash.
std::string base_name(std::string const& path);

}  // namespace atl
