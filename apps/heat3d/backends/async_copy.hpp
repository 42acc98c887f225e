#pragma once

/// Copies into memory of a block of threads, beside which the thread that starts them goes on. They come in groups, which end in
/// the order in which they were started. On the host, and on devices before architecture 8.0, each is done at once.

#include "problem/cell.hpp"

namespace heat3d {

HEAT3D_CELL void copy_soon(double* to, double const* from) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  asm volatile(
      "cp.async.ca.shared.global [%0], [%1], 8;" ::"r"(static_cast<unsigned>(__cvta_generic_to_shared(to))),
      "l"(__cvta_generic_to_global(from))
      : "memory");
#else
  *to = *from;
#endif
}

/// What this thread has started since the last call is a group.
HEAT3D_CELL void end_copy_group() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}

/// All groups of this thread are done, but the last `n`. Other threads see it after a barrier.
template <int n>
HEAT3D_CELL void await_copy_groups() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  asm volatile("cp.async.wait_group %0;" ::"n"(n) : "memory");
#endif
}

}  // namespace heat3d
