#pragma once

/// Version macros and mode selection. Included by every header of the interface.
///
/// A program chooses its thread mode and code mode when it is compiled; the library is the same for all of
/// them. What a mode changes lives in headers, inside an inline namespace named after the mode, so that
/// translation units of different modes do not link together silently.

#include <atoll/base/config.hpp>

/// Revision of the UPC++ v1.0 specification that this library follows.
#define UPCXX_SPEC_VERSION 20230900L
/// Release of this implementation, YYYYMMPP.
#define UPCXX_VERSION 20261100L

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

// Whether as_future and as_promise notify later by default: 0 or 1, set before the first inclusion.
#ifndef UPCXX_DEFER_COMPLETION
#define UPCXX_DEFER_COMPLETION 0
#endif

// Whether transfers of nothing are worth a warning: programs set it, and nothing warns here.
#ifndef UPCXX_WARN_EMPTY_RMA
#define UPCXX_WARN_EMPTY_RMA 0
#endif

// The network that programs test for. Transports are chosen when a program starts; the name is what the build
// asked for (upcxx -network=NAME), else that of one host.
#if !(defined(UPCXX_NETWORK_SMP) || defined(UPCXX_NETWORK_UDP) || defined(UPCXX_NETWORK_IBV) ||   \
      defined(UPCXX_NETWORK_ARIES) || defined(UPCXX_NETWORK_MPI) || defined(UPCXX_NETWORK_OFI) || \
      defined(UPCXX_NETWORK_UCX))
#define UPCXX_NETWORK_SMP 1
#endif

namespace upcxx {
inline namespace UPCXX_MODE {}
}  // namespace upcxx
