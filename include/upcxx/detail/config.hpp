#pragma once

/// Version macros, mode selection and symbol visibility. Included by every public header.
///
/// A program chooses its thread mode and code mode when it is compiled; the library is the same for all of
/// them. What a mode changes lives in headers, inside an inline namespace named after the mode, so that
/// translation units of different modes do not link together silently.

/// Revision of the UPC++ v1.0 specification that this library follows.
#define UPCXX_SPEC_VERSION 20230900L
/// Release of this implementation, YYYYMMPP.
#define UPCXX_VERSION 20261100L
/// Version of Atoll itself.
#define ATOLL_VERSION_MAJOR 0
#define ATOLL_VERSION_MINOR 1
#define ATOLL_VERSION_PATCH 0

// Thread mode: UPCXX_THREADMODE undefined or 0 is `seq`, non-zero is `par`.
// Code mode: UPCXX_CODEMODE undefined or 0 is `debug` (checked), non-zero is `opt`.
#if defined(UPCXX_THREADMODE) && UPCXX_THREADMODE
#if defined(UPCXX_CODEMODE) && UPCXX_CODEMODE
#define UPCXX_MODE par_opt
#else
#define UPCXX_MODE par_debug
#endif
#else
#if defined(UPCXX_CODEMODE) && UPCXX_CODEMODE
#define UPCXX_MODE seq_opt
#else
#define UPCXX_MODE seq_debug
#endif
#endif

/// Marks what the shared library offers to programs; everything else is hidden.
#define ATOLL_EXPORT __attribute__((visibility("default")))
/// Kept out of the calling function: error paths and other rare code.
#define ATOLL_COLD __attribute__((cold, noinline))
#define ATOLL_INLINE [[gnu::always_inline]] inline

namespace upcxx {
inline namespace UPCXX_MODE {}
}  // namespace upcxx
