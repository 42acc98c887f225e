#pragma once

/// The machine that a rank runs on, and how durations are written.

#include <optional>
#include <string>
#include <string_view>

namespace apps {

std::string utc_now();  ///< 2026-01-31T12:00:00Z
std::string host_name();
int known_cores();         ///< their numbers are below this
bool is_usable(int core);  ///< by this process
/// Memory that this host (or this container) can still give.
double available_bytes();
/// Says what is missing where `what` needs more bytes than that, and what to use instead; else nothing.
std::optional<std::string> memory_shortage(std::string const& what, double needed, std::string const& advice);

/// A number that tells names apart, such as those of hosts; small enough to be exact as a double.
double number_of(std::string_view name);

/// Whether a person sees what is printed, rather than a file. Open MPI's mpirun lends rank 0 a terminal as
/// standard output, wherever it sends that, but not as standard error. `atoll run` passes on what comes out of a pipe, and
/// says of which if that is seen.
bool at_terminal();
/// How many characters stand in a row of it.
int terminal_columns();

/// "1.2 s", "12 min", "3.4 h".
std::string duration(double seconds);

}  // namespace apps
