#pragma once

/// Failing with words: one message that says what failed, on which rank and host, why, and what to try.

#include <cstdarg>
#include <cstdint>
#include <stdexcept>
#include <string>

#include <atoll/base/config.hpp>

namespace atl {

/// Who speaks in messages, and which process that is. Set once at init by the engine; before that the process is "pid N".
void set_identity(std::int32_t rank, std::int32_t size, std::string const& host);

/// "rank 3 of 64 (nid0012)" or "pid 4711 (nid0012)".
std::string identity();

/// Start-up failed; the text is complete (without the "atoll: rank ..." prefix, which `fatal` adds).
class startup_error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Prints "atoll: <identity>: <component>: <message>" to standard error in one write and ends the job. For what is no mistake of the call
/// that this thread is in. Where several ranks or threads fail, only the first one speaks.
[[noreturn]] [[gnu::format(printf, 2, 3)]] ATOLL_COLD void fatal(char const* component, char const* format,
                                                                 ...);

/// Prints the same line and goes on.
[[gnu::format(printf, 2, 3)]] ATOLL_COLD void warn(char const* component, char const* format, ...);

/// printf into a std::string.
[[gnu::format(printf, 1, 2)]] std::string format(char const* format, ...);

/// Ends the job over a mistake of the program: prints "atoll: <identity>: <message>" and where in the program
/// the library was called, then aborts. By a signal, so that debuggers and core dumps show the place. Where
/// several ranks or threads fail, only the first one speaks.
[[noreturn]] ATOLL_COLD void stop(std::string const& message) noexcept;

/// printf's arguments into a std::string.
std::string format_list(char const* format, va_list args);

// In a process that a rank has forked freeze_hook alone is called.

/// Asked by `stop` and `fatal` before they print: false if somebody else has reported a failure of this job. Null: true.
extern bool (*first_to_fail)();

/// Called by `fatal` after printing, to end the other ranks too. Null: std::abort only.
extern void (*abort_hook)();

/// Called, if not null, before this process dies of an error or of a signal: ends what waits for it, and must not be cut off. Usable in handlers
/// of signals; perhaps called several times.
extern void (*release_hook)() noexcept;

/// Called by `fatal` before that, if not null: to wait for a debugger.
extern void (*freeze_hook)();

}  // namespace atl
