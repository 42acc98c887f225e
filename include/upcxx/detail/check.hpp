#pragma once

/// Assertions of checked builds (code mode debug) and the public UPCXX_ASSERT macros.

#include <upcxx/detail/config.hpp>

namespace atl {
/// Prints what failed, on which rank and host, and where; then ends the job.
[[noreturn]] ATOLL_EXPORT ATOLL_COLD void check_failed(char const* file, int line, char const* function,
                                                       char const* condition, char const* message) noexcept;
}  // namespace atl

#if defined(UPCXX_CODEMODE) && UPCXX_CODEMODE
#define ATOLL_CHECK(condition, message) ((void)0)
#else
/// Precondition of a library call; costs nothing in opt mode.
#define ATOLL_CHECK(condition, message) \
  ((condition) ? (void)0 : ::atl::check_failed(__FILE__, __LINE__, __func__, #condition, message))
#endif
