#pragma once

/// Backtraces and waiting for a debugger, as GASNET_BACKTRACE* and GASNET_FREEZE* ask for.

#include "bootstrap/placement.hpp"

namespace atl::bootstrap {

/// Installs what the settings ask for. Call once, before `attach`, which leaves alone the signals that are
/// taken. Throws startup_error for settings that make no sense.
void install_debugging();

/// Prints a backtrace on a crash, unless somebody else has the signals: for processes without a launcher.
/// Call after `attach`.
void install_backtraces(placement const& where);

/// Prints who waits and how to go on, then waits for a debugger to set `atl::bootstrap::frozen` to 0,
/// or for SIGCONT.
void freeze(char const* why) noexcept;

}  // namespace atl::bootstrap
