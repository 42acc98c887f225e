// Kernels of the library. Not compiled in the build, which needs no toolkit: scripts/kernels.sh makes kernels.ptx.inc of it.

#include <cstdint>

#include "memory/cuda/kernels.hpp"

/// One thread adds to a word, wherever it is. Who sees the sum sees what the stream had written before.
extern "C" __global__ void atoll_add(std::uint64_t word, std::uint64_t value) {
  asm volatile("red.release.sys.add.u64 [%0], %1;" ::"l"(word), "l"(value) : "memory");
}

namespace {

/// Of what is left from `done` on, the part that is whole units, if both ends are multiples of that; gives how much is done then.
template <class Unit>
__device__ std::uint32_t copy_units(std::uint64_t to, std::uint64_t from, std::uint32_t bytes,
                                    std::uint32_t done) {
  if ((to | from) % sizeof(Unit) != 0) return done;
  std::uint32_t const whole = bytes / sizeof(Unit) * sizeof(Unit);
  for (std::uint32_t i = done + threadIdx.x * sizeof(Unit); i < whole; i += blockDim.x * sizeof(Unit))
    *reinterpret_cast<Unit*>(to + i) = *reinterpret_cast<Unit const*>(from + i);
  return whole;
}

}  // namespace

/// A copy for each block. Loads and stores of 16 bytes where both ends allow that; words, which may be signals, whole.
extern "C" __global__ void atoll_copies(atl::memory::cuda::small_copies const __grid_constant__ all) {
  std::uint64_t const to = all.to[blockIdx.x];
  std::uint64_t const from = all.from[blockIdx.x];
  std::uint32_t const bytes = all.bytes[blockIdx.x];
  std::uint32_t done = copy_units<uint4>(to, from, bytes, 0);
  done = copy_units<unsigned long long>(to, from, bytes, done);
  done = copy_units<unsigned>(to, from, bytes, done);
  copy_units<unsigned char>(to, from, bytes, done);
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
      return move_units<unsigned long long>(all);
    case 4:
      return move_units<unsigned>(all);
    case 2:
      return move_units<unsigned short>(all);
    default:
      return move_units<unsigned char>(all);
  }
}
