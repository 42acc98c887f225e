#pragma once

/// What every header of the library needs, at any layer: the language, the version, symbols' visibility.

#if __cplusplus < 202002L
#error \
    "this library needs C++20: compile with -std=c++20, or with the wrapper upcxx, which raises an older -std"
#endif

/// Version of Atoll.
#define ATOLL_VERSION_MAJOR 0
#define ATOLL_VERSION_MINOR 1
#define ATOLL_VERSION_PATCH 0

/// Marks what the shared library offers to programs; everything else is hidden.
#define ATOLL_EXPORT __attribute__((visibility("default")))
/// A thread's variable of the library is reached without a call. nvcc does not know the attribute.
#ifdef __CUDACC__
#define ATOLL_INITIAL_EXEC
#else
#define ATOLL_INITIAL_EXEC __attribute__((tls_model("initial-exec")))
#endif
/// Also for kernels, where the compiler compiles those.
#ifdef __CUDACC__
#define ATOLL_ANYWHERE __host__ __device__
#else
#define ATOLL_ANYWHERE
#endif
/// Kept out of the calling function: error paths and other rare code.
#define ATOLL_COLD __attribute__((cold, noinline))
#define ATOLL_INLINE [[gnu::always_inline]] inline
