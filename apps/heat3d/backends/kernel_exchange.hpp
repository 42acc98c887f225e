#pragma once

/// Planes that a kernel of many steps stores into the neighbours' halos by itself: what an exchange offers to back ends
/// on devices, and what that kernel is told.

#include <cstdint>

#include "backends/tiles.hpp"
#include "problem/stencil.hpp"

namespace heat3d {

/// How a kernel of many steps runs on a device.
struct kernel_shape {
  std::uint32_t threads;  ///< of a block
  int blocks;             ///< that are there at once, which is what blocks that wait for each other need
  tiling tiles;           ///< of the inner cells
  std::uint32_t places;   ///< see kernel_work
  kept_way way;
  std::uint32_t chunk_cells;
  void const* code;  ///< null: threads of the host play it
};

/// Many steps of a block. Those from `sweeps` to `slots` are the back end's, the others the exchange's.
struct kernel_work {
  // By parity of the step. Halos and planes are the exchange's as well: planes are the neighbours' halos of the next step.
  sweep_work sweeps[2];
  boundary_work boundaries[2];
  basic_tile_flags<known_step> flags;  ///< its clock has the first step
  std::uint32_t step_n;
  compensated_sum* slots;  ///< for each block of threads, to what it radiates

  /// For planes of a tile in memory of its block of threads, in each copy; 0: none passes through it.
  std::uint32_t places;
  kept_way way;
  std::uint32_t chunk_cells;  ///< cells at faces are dealt out in chunks of so many
  std::uint32_t chunk_n;
  /// A word for each chunk of each neighbour, in our memory, and for each of ours, in theirs. It is n + 1 when what the chunk
  /// stores for step n is there.
  std::uint64_t const* heard;
  std::uint32_t heard_n;
  std::uint64_t* told[face_n];  ///< null where there is no neighbour
};

/// Neighbours run the same steps at the same time. Each chunk of a step waits for all chunks of all neighbours, is computed, and
/// stored for the next step. In this order planes need no credit: a chunk stores into the halo of t+2 when it has seen that all
/// chunks of its neighbours have stored for t+1, which each did when it had read the halo of t. So two halos, by parity, are enough.
class kernel_exchange {
 public:
  virtual ~kernel_exchange() = default;
  kernel_exchange(kernel_exchange const&) = delete;
  kernel_exchange& operator=(kernel_exchange const&) = delete;

  /// The next step is the first one. Collective; this rank's kernels are done.
  virtual void restart() = 0;
  virtual kernel_shape const& shape() const = 0;
  /// Starts the kernel at the end of the stream. Addresses of `work` are those of device_memory.
  virtual void start(kernel_work work, void* stream) = 0;

 protected:
  kernel_exchange() = default;
};

}  // namespace heat3d
