#pragma once

/// Last words of a rank: handlers for fatal signals and uncaught exceptions that fill a crash report.

#include "bootstrap/board.hpp"

namespace atl::bootstrap {

/// Installs the handlers for this process; `slot` must stay mapped for its life. Signals for which the
/// application (or a sanitizer) has installed a handler already are left alone. The launcher reads the report.
void install_crash_handlers(board_header const& header, rank_slot& slot);

/// The same where no launcher does: `tell` is called in the handler when the report is complete, before the process
/// dies. Of several calls in a process the first counts.
void install_crash_handlers(crash_report& report, void (*tell)() noexcept);

/// From now on SIGTERM, by which launchers end the other ranks of a job, has release_hook called before this process dies of it, unless the
/// program has a handler of its own.
void install_termination_handler() noexcept;

/// Ends this process by the signal whose handler is running, as if it had none; calls release_hook before. May be called in handlers.
void die_by(int signal) noexcept;

}  // namespace atl::bootstrap
