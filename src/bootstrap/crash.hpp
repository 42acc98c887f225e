#pragma once

/// Last words of a rank: handlers for fatal signals and uncaught exceptions that fill a crash report.

#include "bootstrap/board.hpp"

namespace atl::bootstrap {

/// Installs the handlers for this process; `slot` must stay mapped for its life. Signals for which the
/// application (or a sanitizer) has installed a handler already are left alone.
void install_crash_handlers(board_header const& header, rank_slot& slot);

}  // namespace atl::bootstrap
