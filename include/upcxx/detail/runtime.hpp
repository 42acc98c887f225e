#pragma once

/// Entry points of the runtime that templates of several headers need.

#include <cstddef>
#include <cstdint>

#include <upcxx/detail/config.hpp>

namespace atl::rt {

/// Makes user-level progress, waiting adaptively in between, until `done(what)` is true.
/// In the restricted context only internal progress can be made; checked builds stop there.
ATOLL_EXPORT void wait_until(bool (*done)(void const*), void const* what);

/// Checked builds: ends the job unless the persona of that mark (atl::rt::persona_mark) is on the calling
/// thread's stack. Mark 0 is anybody's.
ATOLL_EXPORT void check_waiter(std::uint16_t persona) noexcept;

/// Ends the job with the text of the exception that is being handled: it left `what`, which must not throw.
[[noreturn]] ATOLL_EXPORT ATOLL_COLD void exception_left(char const* what) noexcept;

/// True while the calling thread runs a callback inside user-level progress.
ATOLL_EXPORT bool in_restricted_context() noexcept;

}  // namespace atl::rt
