#pragma once

/// Version macros, mode selection and symbol visibility. Included by every public header.
///
/// A program chooses its thread mode and code mode when it is compiled; the library is the same for all of
/// them. What a mode changes lives in headers, inside an inline namespace named after the mode, so that
/// translation units of different modes do not link together silently.

#if __cplusplus < 202002L
#error \
    "this library needs C++20: compile with -std=c++20, or with the wrapper upcxx, which raises an older -std"
#endif

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
// Afterwards the macros are undefined or non-zero, as documented, so that #ifdef works like #if.
#if defined(UPCXX_THREADMODE) && !UPCXX_THREADMODE
#undef UPCXX_THREADMODE
#endif
#if defined(UPCXX_CODEMODE) && !UPCXX_CODEMODE
#undef UPCXX_CODEMODE
#endif
#ifdef UPCXX_THREADMODE
#ifdef UPCXX_CODEMODE
#define UPCXX_MODE par_opt
#else
#define UPCXX_MODE par_debug
#endif
#else
#ifdef UPCXX_CODEMODE
#define UPCXX_MODE seq_opt
#else
#define UPCXX_MODE seq_debug
#endif
#endif

// The network that programs test for. Transports are chosen when a program starts; the name is what the build
// asked for (upcxx -network=NAME), else that of one host.
#if !(defined(UPCXX_NETWORK_SMP) || defined(UPCXX_NETWORK_UDP) || defined(UPCXX_NETWORK_IBV) ||   \
      defined(UPCXX_NETWORK_ARIES) || defined(UPCXX_NETWORK_MPI) || defined(UPCXX_NETWORK_OFI) || \
      defined(UPCXX_NETWORK_UCX))
#define UPCXX_NETWORK_SMP 1
#endif

/// Marks what the shared library offers to programs; everything else is hidden.
#define ATOLL_EXPORT __attribute__((visibility("default")))
/// A thread's variable of the library is reached without a call. nvcc does not know the attribute.
#ifdef __CUDACC__
#define ATOLL_INITIAL_EXEC
#else
#define ATOLL_INITIAL_EXEC __attribute__((tls_model("initial-exec")))
#endif
/// Kept out of the calling function: error paths and other rare code.
#define ATOLL_COLD __attribute__((cold, noinline))
#define ATOLL_INLINE [[gnu::always_inline]] inline

namespace upcxx {
inline namespace UPCXX_MODE {}
}  // namespace upcxx
