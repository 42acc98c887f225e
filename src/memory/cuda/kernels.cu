// Kernels of the library. Not compiled in the build, which needs no toolkit: scripts/kernels.sh makes kernels.ptx.inc of it.

#include <cstdint>

#include "memory/cuda/kernels.hpp"

/// One thread adds to a word, wherever it is. Who sees the sum sees what the stream had written before.
extern "C" __global__ void atoll_add(std::uint64_t word, std::uint64_t value) {
  asm volatile("red.release.sys.add.u64 [%0], %1;" ::"l"(word), "l"(value) : "memory");
}

/// A copy for each block. Loads and stores of 16 bytes where both ends allow that.
extern "C" __global__ void atoll_copies(atl::memory::cuda::small_copies const __grid_constant__ all) {
  std::uint64_t const to = all.to[blockIdx.x];
  std::uint64_t const from = all.from[blockIdx.x];
  std::uint32_t const bytes = all.bytes[blockIdx.x];
  std::uint32_t done = 0;
  if ((to | from) % sizeof(uint4) == 0) {
    std::uint32_t const whole = bytes / sizeof(uint4);
    for (std::uint32_t i = threadIdx.x; i < whole; i += blockDim.x)
      reinterpret_cast<uint4*>(to)[i] = reinterpret_cast<uint4 const*>(from)[i];
    done = whole * sizeof(uint4);
  }
  for (std::uint32_t i = done + threadIdx.x; i < bytes; i += blockDim.x)
    reinterpret_cast<unsigned char*>(to)[i] = reinterpret_cast<unsigned char const*>(from)[i];
}
