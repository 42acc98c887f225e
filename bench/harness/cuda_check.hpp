#pragma once

/// For programs that call CUDA's run time themselves.

#include <cuda_runtime.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>

namespace atl::bench {

inline void check(cudaError_t code, char const* what) {
  if (code == cudaSuccess) return;
  std::fprintf(stderr, "%s: %s: %s\n", program_invocation_short_name, what, cudaGetErrorString(code));
  std::exit(2);
}

}  // namespace atl::bench
