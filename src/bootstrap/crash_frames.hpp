#pragma once

/// Names for the addresses that ranks report.

#include <string>
#include <vector>

#include "base/symbols.hpp"
#include "bootstrap/board.hpp"

namespace atl::bootstrap {

/// Turns the addresses of reports into "function(args) at file.cpp:12", or "function in module" without debug
/// information, or "module+0x1234".
class symbolizer {
 public:
  /// Frames of a report as lines of text without numbering; everything below main is left out.
  std::vector<std::string> describe(crash_report const& report);

 private:
  std::vector<std::string> names_of(code_place const& place) const;

  code_names names_;
};

}  // namespace atl::bootstrap
