#pragma once

/// Sums over the threads of a block on CUDA devices.

namespace heat3d {

/// What blocks have, but those of the kernel that keeps tiles.
inline constexpr int block_threads = 256;

#ifdef __CUDACC__
/// Adds up over the block; the result is with thread 0. Every thread must call it. The last warp may be cut.
__device__ inline double block_sum(double value) {
  constexpr int most_warps = 32;
  __shared__ double warp_sums[most_warps];
  unsigned const thread = threadIdx.x + threadIdx.y * blockDim.x;
  unsigned const threads = blockDim.x * blockDim.y;
  unsigned const lanes = min(32U, threads - thread / 32 * 32);
  unsigned const mask = lanes == 32 ? ~0U : (1U << lanes) - 1;
  for (int offset = 16; offset > 0; offset /= 2) {
    double const other = __shfl_down_sync(mask, value, offset);
    if (thread % 32 + offset < lanes) value += other;
  }
  if (thread % 32 == 0) warp_sums[thread / 32] = value;
  __syncthreads();
  value = 0;
  if (thread == 0) {
    for (unsigned w = 0; w < (threads + 31) / 32; ++w) value += warp_sums[w];
  }
  return value;
}
#endif

}  // namespace heat3d
