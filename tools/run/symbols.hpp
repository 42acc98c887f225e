#pragma once

/// Names for the addresses that ranks report.

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "bootstrap/board.hpp"

namespace atl::tools {

/// A code address as a place in a file that outlives the process.
struct code_place {
  std::string module;         ///< path, or "[vdso]" and the like
  std::uint64_t address = 0;  ///< as the module's symbol table counts
};

/// Turns addresses into "function(args) at file.cpp:12" with binutils' addr2line where that is installed,
/// else into "module+0x1234".
class symbolizer {
 public:
  /// Frames of a report as lines of text without numbering; everything below main is left out.
  std::vector<std::string> describe(bootstrap::crash_report const& report);

 private:
  std::vector<std::string> names_of(code_place const& place, bool after_call);
  void look_up(std::string const& module, std::vector<std::uint64_t> const& addresses);

  /// By module and address: the function there, then the callers into which it was inlined.
  std::map<std::pair<std::string, std::uint64_t>, std::vector<std::string>> known_;
  bool have_tool_ = true;
};

}  // namespace atl::tools
