#pragma once

/// Checks of preconditions in checked builds (code mode debug).
///
/// A message begins with the call as the program spells it, says what is wrong with the numbers, and what to
/// do: "rput: the destination is null: allocate it with new_ or new_array". The rank goes before it and the
/// line of the program behind it.

#include <atoll/base/config.hpp>

namespace atl {
/// Prints the message (printf), and where in the program the library was called; then ends the job.
[[noreturn]] [[gnu::format(printf, 1, 2)]] ATOLL_EXPORT ATOLL_COLD void check_failed(char const* format,
                                                                                     ...) noexcept;
}  // namespace atl

// The code mode is chosen by the program, by the macro that the specification's implementations share.
// Kernels cannot print that.
#if (defined(UPCXX_CODEMODE) && UPCXX_CODEMODE) || defined(__CUDA_ARCH__)
#define ATOLL_CHECKED 0
#define ATOLL_CHECK(condition, ...) ((void)0)
#else
/// For checks that are more than one condition: `if constexpr` does not remove names, the preprocessor does.
#define ATOLL_CHECKED 1
/// Precondition of a library call: a condition, and a message as for printf. Costs nothing in opt mode.
#define ATOLL_CHECK(condition, ...) ((condition) ? (void)0 : ::atl::check_failed(__VA_ARGS__))
#endif
