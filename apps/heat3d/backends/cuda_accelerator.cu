// `--backend cuda`: kernels and streams of the CUDA run time. Compiled without contraction of multiply and
// add, so that the field equals the host's bit for bit.

#include <algorithm>
#include <array>
#include <cuda/atomic>

#include "backends/block_sum.cuh"
#include "backends/cuda_streams.hpp"
#include "backends/device_cells.hpp"
#include "problem/decomposition.hpp"

namespace heat3d {
namespace {

/// At a time on a multiprocessor: leaves 48 registers to a thread. Those of architecture 7.5 run 1024 threads.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ == 750
constexpr int inner_blocks = 4;
#else
constexpr int inner_blocks = 5;
#endif
constexpr int pack_width = 32;
constexpr int pack_height = block_threads / pack_width;

/// Adds what a block's cells radiate to the slot of the block.
__device__ void add_radiated(double radiated, compensated_sum& slot) {
  double const sum = block_sum(radiated);
  if (threadIdx.x == 0 && threadIdx.y == 0) slot.add(sum);
}

/// Inner cells, a block a tile.
__global__ void __launch_bounds__(block_threads, inner_blocks)
    inner_kernel(__grid_constant__ sweep_work const w, __grid_constant__ tile_flags const flags,
                 compensated_sum* slots) {
  tile_place const tile{static_cast<int>(blockIdx.x), static_cast<int>(blockIdx.y),
                        static_cast<int>(blockIdx.z)};
  auto const found = sweep_tile(w, flags, tile, static_cast<int>(threadIdx.x), static_cast<int>(threadIdx.y));
  if (tile.is_at_surface(w, flags.tiles)) add_radiated(found.radiated, slots[tile.number_in(flags.tiles)]);
}

/// Any cells, one per thread.
__global__ void __launch_bounds__(block_threads)
    surface_kernel(__grid_constant__ sweep_work const w, __grid_constant__ tile_flags const flags,
                   std::uint32_t cell_n, compensated_sum* slots) {
  auto const i = blockIdx.x * block_threads + threadIdx.x;
  double const radiated = i < cell_n ? sweep_cell(w, flags, i) : 0;
  if (__syncthreads_or(radiated != 0)) add_radiated(radiated, slots[blockIdx.x]);
}

template <class T>
using shared_word = cuda::atomic_ref<T, cuda::thread_scope_system>;

/// Halos are there, for all threads of the block.
__device__ void await_halos(plane_words const& words) {
  if (threadIdx.x < face_n && words.heard[threadIdx.x] != nullptr) {
    shared_word const heard(*const_cast<std::uint64_t*>(words.heard[threadIdx.x]));
    while (heard.load(cuda::memory_order_acquire) != words.heard_value) {
    }
  }
  __syncthreads();
}

/// Planes are, when the last block is done. What each has stored is in place before it is counted.
__device__ void tell_planes(plane_words const& words, unsigned* done) {
  __syncthreads();
  if (threadIdx.x != 0) return;
  __threadfence_system();
  if (atomicAdd(done, 1) + 1 != gridDim.x) return;
  *done = 0;
  __threadfence_system();
  for (auto* const told : words.told) {
    if (told != nullptr) shared_word(*told).store(words.told_value, cuda::memory_order_relaxed);
  }
}

/// All cells at faces with a neighbour, one per thread. Its blocks wait for other ranks only, so they need not be there at once.
__global__ void __launch_bounds__(block_threads)
    boundary_kernel(__grid_constant__ sweep_work const w, __grid_constant__ boundary_work const boundary,
                    __grid_constant__ tile_flags const flags, __grid_constant__ plane_words const words,
                    unsigned* done, compensated_sum* slots) {
  if (words.used) await_halos(words);
  auto const i = blockIdx.x * block_threads + threadIdx.x;
  double const radiated = i < boundary.cell_n() ? sweep_boundary_cell(w, boundary, flags, i) : 0;
  if (words.used) tell_planes(words, done);
  if (__syncthreads_or(radiated != 0)) add_radiated(radiated, slots[blockIdx.x]);
}

__global__ void stamp_kernel(step_clock clock, int parity) { clock.stamp(parity); }

__global__ void pack_kernel(plane_work const w, double* to) {
  auto const i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  auto const j = static_cast<std::int64_t>(blockIdx.y) * blockDim.y + threadIdx.y;
  if (i < w.width && j < w.height) to[i + w.width * j] = w.origin[i * w.stride_i + j * w.stride_j];
}

__global__ void __launch_bounds__(block_threads)
    sum_kernel(double const* field, std::int64_t n, compensated_sum* slots) {
  compensated_sum mine;
  for (auto i = static_cast<std::int64_t>(blockIdx.x) * block_threads + threadIdx.x; i < n;
       i += static_cast<std::int64_t>(gridDim.x) * block_threads) {
    mine.add(field[i]);
  }
  double const low = block_sum(mine.low);
  __syncthreads();
  double const high = block_sum(mine.high);
  if (threadIdx.x == 0) slots[blockIdx.x] = {high, low};
}

/// One block adds up slots of both kinds, and clears them.
__global__ void __launch_bounds__(block_threads)
    collect_kernel(compensated_sum* field, std::int64_t field_n, compensated_sum* radiated,
                   std::int64_t radiated_n, accelerator::sums* result) {
  __shared__ compensated_sum all[block_threads];
  auto const collect = [&](compensated_sum* slots, std::int64_t n) {
    compensated_sum mine;
    for (std::int64_t i = threadIdx.x; i < n; i += block_threads) {
      mine.add(slots[i]);
      slots[i] = {};
    }
    all[threadIdx.x] = mine;
    __syncthreads();
    compensated_sum total;
    if (threadIdx.x == 0) {
      for (auto const& part : all) total.add(part);
    }
    __syncthreads();
    return total;
  };
  auto const of_field = collect(field, field_n);
  auto const of_radiated = collect(radiated, radiated_n);
  if (threadIdx.x == 0) *result = {of_field, of_radiated};
}

constexpr unsigned blocks_for(std::int64_t n, std::int64_t per_block) {
  return static_cast<unsigned>(pieces_for(n, per_block));
}

class cuda_accelerator final : public cuda_streams {
 public:
  explicit cuda_accelerator(backend_setup const& setup);
  ~cuda_accelerator() override;

  void sweep_inner(sweep_work const& work) override {
    tiling const& t = flags_.tiles;
    inner_kernel<<<dim3(t.n_x, t.n_y, t.n_z), dim3(t.width, t.height), 0, stream(inner_stream)>>>(
        work, flags_, slots_[inner_stream]);
    check_cuda(cudaGetLastError(), "inner cells");
  }
  void sweep_surface(face f, sweep_work const& work) override {
    auto const n = work.part.cell_n();
    surface_kernel<<<blocks_for(n, block_threads), block_threads, 0, stream(f)>>>(
        work, flags_, static_cast<std::uint32_t>(n), slots_[f]);
    check_cuda(cudaGetLastError(), "cells at a face");
  }
  void sweep_boundary(face f, sweep_work const& work, boundary_work const& boundary,
                      plane_words const& words) override {
    // The slots of all faces: nobody else uses any then.
    boundary_kernel<<<blocks_for(boundary.cell_n(), block_threads), block_threads, 0, stream(f)>>>(
        work, boundary, flags_, words, done_, slots_[0]);
    check_cuda(cudaGetLastError(), "cells at faces");
  }
  bool uses_words() const override { return true; }
  void stamp(int parity) override {
    stamp_kernel<<<1, 1, 0, stream(inner_stream)>>>(flags_.clock, parity);
    check_cuda(cudaGetLastError(), "clock");
  }
  void pack(face f, plane_work const& work, double* to) override {
    dim3 const threads(pack_width, pack_height);
    dim3 const grid(blocks_for(work.width, pack_width), blocks_for(work.height, pack_height));
    pack_kernel<<<grid, threads, 0, stream(f)>>>(work, to);
    check_cuda(cudaGetLastError(), "packing");
  }

  void sum(double const* field, std::int64_t n) override {
    auto* const inner = stream(inner_stream);
    sum_kernel<<<sum_blocks, block_threads, 0, inner>>>(field, n, sum_slots_);
    collect_kernel<<<1, block_threads, 0, inner>>>(sum_slots_, sum_blocks, slots_[0], slot_n_, result_);
    check_cuda(cudaGetLastError(), "sum");
    record_sum(inner_stream);
  }
  sums finish_sum() override {
    wait_for_sum();
    return *result_;
  }
  step_tables tables_for_steps(tiling const& tiles, int /*blocks*/) override {
    flags_.tiles = tiles;
    make_words();
    return {flags_, slots_[0]};
  }

 private:
  static constexpr int sum_blocks = 528;

  /// For the present tiles.
  void make_words() {
    auto const words = std::max<std::int64_t>(flags_.tiles.tile_n(), 1);
    check_cuda(cudaFree(flags_.words[0]), "memory");
    check_cuda(cudaMalloc(&flags_.words[0], 2 * words * sizeof(std::uint32_t)), "memory");
    check_cuda(cudaMemset(flags_.words[0], 0, 2 * words * sizeof(std::uint32_t)), "memory");
    flags_.words[1] = flags_.words[0] + words;
    // No stream of ours waits for the one that clears them.
    check_cuda(cudaDeviceSynchronize(), "device");
  }

  std::array<compensated_sum*, stream_n> slots_{};  ///< per block, for each stream its own
  std::int64_t slot_n_ = 0;
  unsigned* done_ = nullptr;  ///< blocks of the kernel of cells at faces
  compensated_sum* sum_slots_ = nullptr;
  sums* result_ = nullptr;  ///< on the host
};

cuda_accelerator::cuda_accelerator(backend_setup const& setup) : cuda_streams(setup) {
  auto const n = setup.own.extent();
  flags_.tiles = tiling_of(inner_box(setup.own), block_threads, {processors(), inner_blocks});
  make_words();

  std::array<std::int64_t, stream_n> first{};
  for (int f = 0; f < face_n; ++f) {
    first[f] = slot_n_;
    slot_n_ += blocks_for(face_cells(n, face(f)), block_threads);
  }
  first[inner_stream] = slot_n_;
  // A kernel of many steps has them all, and no more blocks than the device has threads for.
  constexpr std::int64_t most_threads = 2048;
  slot_n_ = std::max(slot_n_ + flags_.tiles.tile_n(), most_threads / block_threads * processors());
  check_cuda(cudaMalloc(&slots_[0], slot_n_ * sizeof(compensated_sum)), "memory");
  check_cuda(cudaMemset(slots_[0], 0, slot_n_ * sizeof(compensated_sum)), "memory");
  for (int s = 0; s < stream_n; ++s) slots_[s] = slots_[0] + first[s];
  check_cuda(cudaMalloc(&done_, sizeof(unsigned)), "memory");
  check_cuda(cudaMemset(done_, 0, sizeof(unsigned)), "memory");
  check_cuda(cudaMalloc(&sum_slots_, sum_blocks * sizeof(compensated_sum)), "memory");
  check_cuda(cudaMallocHost(&result_, sizeof(sums)), "memory");
  check_cuda(cudaDeviceSynchronize(), "device");
}

cuda_accelerator::~cuda_accelerator() {
  cudaDeviceSynchronize();
  cudaFree(flags_.words[0]);
  cudaFree(slots_[0]);
  cudaFree(done_);
  cudaFree(sum_slots_);
  cudaFreeHost(result_);
}

}  // namespace

std::unique_ptr<backend> make_cuda_backend(backend_setup const& setup) {
  return make_device_backend(setup, std::make_unique<cuda_accelerator>(setup));
}

}  // namespace heat3d
