#pragma once

/// Words for the last words of a rank, of whoever reads them.

#include <string>
#include <vector>

#include "bootstrap/board.hpp"
#include "bootstrap/crash_frames.hpp"

namespace atl::bootstrap {

/// "SIGSEGV (Segmentation fault)".
std::string signal_name(int signal);

/// "died of SIGSEGV (Segmentation fault) at address 0x0"; of the exception, where that caused the abort.
std::string crash_text(crash_report const& report);

/// The backtrace of a report, indented, and what is known of such ends; or an empty text.
std::string backtrace_text(crash_report const& report, symbolizer& names);

}  // namespace atl::bootstrap
