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

namespace {

template <class Unit>
__device__ void move_units(atl::memory::cuda::box_copy const& all) {
  for (std::uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < all.units; i += gridDim.x * blockDim.x) {
    *reinterpret_cast<Unit*>(all.place(all.to, all.to_strides, i)) =
        *reinterpret_cast<Unit const*>(all.place(all.from, all.from_strides, i));
  }
}

}  // namespace

/// All threads move units of one box.
extern "C" __global__ void atoll_box(atl::memory::cuda::box_copy const __grid_constant__ all) {
  switch (all.unit) {
    case 16:
      return move_units<uint4>(all);
    case 8:
      return move_units<uint2>(all);
    case 4:
      return move_units<unsigned>(all);
    case 2:
      return move_units<unsigned short>(all);
    default:
      return move_units<unsigned char>(all);
  }
}
