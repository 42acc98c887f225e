// `--backend cuda`: kernels and streams of the CUDA run time. Compiled without contraction of multiply and
// add, so that the field equals the host's bit for bit.

#include <cuda_runtime.h>

#include <algorithm>
#include <array>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "accelerator.hpp"

namespace heat3d {
namespace {

void check(cudaError_t status, char const* what) {
  if (status == cudaSuccess) return;
  if (status == cudaErrorMemoryAllocation) throw std::bad_alloc();
  device_failed(std::string(what) + ": " + cudaGetErrorString(status));
}

constexpr int block_threads = 256;
constexpr int block_width = 32;  ///< in x
constexpr int block_height = block_threads / block_width;

/// Reads of the present field and halos, which no kernel that runs at the same time writes to.
__device__ double load_once(double const* p) { return __ldg(p); }

/// Adds up over the block; the result is with thread 0. Every thread must call it.
__device__ double block_sum(double value) {
  __shared__ double warp_sums[block_threads / 32];
  int const thread = static_cast<int>(threadIdx.x + threadIdx.y * blockDim.x);
  for (int offset = 16; offset > 0; offset /= 2) value += __shfl_down_sync(~0U, value, offset);
  if (thread % 32 == 0) warp_sums[thread / 32] = value;
  __syncthreads();
  value = 0;
  if (thread == 0) {
    for (double w : warp_sums) value += w;
  }
  return value;
}

/// Adds what a block's cells radiate to the slot of the block. Only blocks at the outer surface have any.
__device__ void add_radiated(double radiated, bool exposed, compensated_sum* slots, unsigned slot) {
  if (__syncthreads_or(exposed) == 0) return;
  double const sum = block_sum(radiated);
  if (threadIdx.x == 0 && threadIdx.y == 0) slots[slot].add(sum);
}

/// Inner cells: each thread walks up `chunk` cells in z and keeps the column in registers.
__global__ void __launch_bounds__(block_threads)
    inner_kernel(sweep_work const w, int chunk, compensated_sum* slots) {
  auto const nx = w.extent[0];
  auto const ny = w.extent[1];
  auto const plane = nx * ny;
  auto const x = w.part.low[0] + blockIdx.x * block_width + threadIdx.x;
  auto const y = w.part.low[1] + blockIdx.y * block_height + threadIdx.y;
  auto const first = w.part.low[2] + static_cast<std::int64_t>(blockIdx.z) * chunk;
  auto const last = min(first + chunk, static_cast<std::int64_t>(w.part.high[2]));
  double radiated = 0;
  bool exposed = false;
  if (x < w.part.high[0] && y < w.part.high[1]) {
    // A missing neighbour is the cell itself.
    std::int64_t const x_low = x > 0 ? -1 : 0;
    std::int64_t const x_high = x + 1 < nx ? 1 : 0;
    std::int64_t const y_low = y > 0 ? -nx : 0;
    std::int64_t const y_high = y + 1 < ny ? nx : 0;
    int const sides = (x_low == 0) + (x_high == 0) + (y_low == 0) + (y_high == 0);
    auto at = position(w.extent, x, y, first);
    double const* __restrict__ p = w.from + at;
    double* __restrict__ out = w.to + at;
    neighborhood a{};
    a.power = w.heated && x == 0 ? w.k.power : 0.0;
    double below = load_once(first > 0 ? p - plane : p);
    double here = load_once(p);
#pragma unroll 4
    for (auto z = first; z < last; ++z) {
      bool const top = z + 1 == w.extent[2];
      double const above = load_once(top ? p : p + plane);
      a.c = here;
      a.x_low = load_once(p + x_low);
      a.x_high = load_once(p + x_high);
      a.y_low = load_once(p + y_low);
      a.y_high = load_once(p + y_high);
      a.z_low = below;
      a.z_high = above;
      a.exposed = sides + (z == 0) + top;
      *out = advanced_cell(a, w);
      if (a.exposed != 0) {
        radiated += a.exposed * fourth_power(here);
        exposed = true;
      }
      below = here;
      here = above;
      p += plane;
      out += plane;
    }
  }
  add_radiated(radiated, exposed, slots, blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z));
}

/// Any cells, one per thread.
__global__ void __launch_bounds__(block_threads) surface_kernel(sweep_work const w, compensated_sum* slots) {
  // A face has fewer than 2^32 cells, and narrow divisions are quick.
  auto const e0 = static_cast<std::uint32_t>(w.part.high[0] - w.part.low[0]);
  auto const e1 = static_cast<std::uint32_t>(w.part.high[1] - w.part.low[1]);
  auto const e2 = static_cast<std::uint32_t>(w.part.high[2] - w.part.low[2]);
  auto const i = blockIdx.x * block_threads + threadIdx.x;
  double radiated = 0;
  bool exposed = false;
  if (i < e0 * e1 * e2) {
    auto const row = i / e0;
    auto const x = w.part.low[0] + i % e0;
    auto const y = w.part.low[1] + row % e1;
    auto const z = w.part.low[2] + row / e1;
    auto const a = neighbors_of(w, x, y, z);
    w.to[position(w.extent, x, y, z)] = advanced_cell(a, w);
    radiated = a.exposed * fourth_power(a.c);
    exposed = a.exposed != 0;
  }
  add_radiated(radiated, exposed, slots, blockIdx.x);
}

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
  return static_cast<unsigned>((n + per_block - 1) / per_block);
}

class cuda_accelerator final : public accelerator {
 public:
  explicit cuda_accelerator(backend_setup const& setup);
  ~cuda_accelerator() override;

  void sweep_inner(sweep_work const& work) override {
    auto const e = work.part.extent();
    dim3 const grid(blocks_for(e[0], block_width), blocks_for(e[1], block_height), blocks_for(e[2], chunk_));
    inner_kernel<<<grid, dim3(block_width, block_height), 0, streams_[inner_stream]>>>(work, chunk_,
                                                                                       slots_[inner_stream]);
    check(cudaGetLastError(), "inner cells");
  }
  void sweep_surface(face stream, sweep_work const& work) override {
    surface_kernel<<<blocks_for(work.part.cell_n(), block_threads), block_threads, 0, streams_[stream]>>>(
        work, slots_[stream]);
    check(cudaGetLastError(), "cells at a face");
  }
  void pack(face stream, plane_work const& work, double* to) override {
    dim3 const threads(block_width, block_height);
    dim3 const grid(blocks_for(work.width, block_width), blocks_for(work.height, block_height));
    pack_kernel<<<grid, threads, 0, streams_[stream]>>>(work, to);
    check(cudaGetLastError(), "packing");
  }
  void copy_in(face stream, double* to, double const* host, std::int64_t n) override {
    check(cudaMemcpyAsync(to, host, n * sizeof(double), cudaMemcpyHostToDevice, streams_[stream]), "copy");
  }
  void copy_out(face stream, double* host, double const* from, std::int64_t n) override {
    check(cudaMemcpyAsync(host, from, n * sizeof(double), cudaMemcpyDeviceToHost, streams_[stream]), "copy");
  }

  void sum(double const* field, std::int64_t n) override {
    auto* const stream = streams_[inner_stream];
    sum_kernel<<<sum_blocks, block_threads, 0, stream>>>(field, n, sum_slots_);
    collect_kernel<<<1, block_threads, 0, stream>>>(sum_slots_, sum_blocks, slots_[0], slot_n_, result_);
    check(cudaGetLastError(), "sum");
    check(cudaEventRecord(summed_, stream), "sum");
  }
  sums finish_sum() override {
    check(cudaEventSynchronize(summed_), "sum");
    return *result_;
  }

  void record(mark m, int stream) override {
    check(cudaEventRecord(marks_[static_cast<int>(m)], streams_[stream]), "event");
  }
  void wait(int stream, mark m) override {
    check(cudaStreamWaitEvent(streams_[stream], marks_[static_cast<int>(m)], 0), "event");
  }
  bool reached(mark m) override {
    auto const status = cudaEventQuery(marks_[static_cast<int>(m)]);
    if (status == cudaErrorNotReady) return false;
    check(status, "kernels");
    return true;
  }
  void synchronize() override { check(cudaDeviceSynchronize(), "kernels"); }

  void load(double* to, double const* host, std::int64_t n) override {
    check(cudaMemcpy(to, host, n * sizeof(double), cudaMemcpyHostToDevice), "copy");
  }
  void store(double* host, double const* from, std::int64_t n) const override {
    check(cudaMemcpy(host, from, n * sizeof(double), cudaMemcpyDeviceToHost), "copy");
  }
  void pin(void const* memory, std::int64_t bytes) override {
    // Memory that is pinned already, or cannot be, is copied all the same.
    cudaHostRegister(const_cast<void*>(memory), bytes, cudaHostRegisterPortable);
    (void)cudaGetLastError();
  }

 private:
  static constexpr int sum_blocks = 528;

  int chunk_ = 1;
  std::array<cudaStream_t, stream_n> streams_{};
  std::array<cudaEvent_t, mark_n> marks_{};
  cudaEvent_t summed_{};
  std::array<compensated_sum*, stream_n> slots_{};  ///< per block, for each stream its own
  std::int64_t slot_n_ = 0;
  compensated_sum* sum_slots_ = nullptr;
  sums* result_ = nullptr;  ///< on the host
};

cuda_accelerator::cuda_accelerator(backend_setup const& setup) {
  check(cudaSetDevice(setup.device->device()), "device");
  int processors = 0;
  check(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, setup.device->device()),
        "device");
  // Long walks save reads of the planes below and above; short ones fill the device.
  auto const n = setup.own.extent();
  auto const columns =
      static_cast<std::int64_t>(blocks_for(n[0], block_width)) * blocks_for(n[1], block_height);
  chunk_ = static_cast<int>(std::clamp<std::int64_t>(columns * n[2] / (8 * processors), 4, 32));

  int least = 0;
  int greatest = 0;
  check(cudaDeviceGetStreamPriorityRange(&least, &greatest), "device");
  for (int s = 0; s < stream_n; ++s) {
    // Cells at faces go first: neighbours wait for them.
    check(cudaStreamCreateWithPriority(&streams_[s], cudaStreamNonBlocking,
                                       s == inner_stream ? least : greatest),
          "stream");
  }
  for (auto& m : marks_) check(cudaEventCreateWithFlags(&m, cudaEventDisableTiming), "event");
  check(cudaEventCreateWithFlags(&summed_, cudaEventDisableTiming), "event");

  std::array<std::int64_t, stream_n> first{};
  for (int f = 0; f < face_n; ++f) {
    first[f] = slot_n_;
    slot_n_ += blocks_for(face_cells(n, face(f)), block_threads);
  }
  first[inner_stream] = slot_n_;
  slot_n_ += columns * blocks_for(n[2], chunk_);
  check(cudaMalloc(&slots_[0], slot_n_ * sizeof(compensated_sum)), "memory");
  check(cudaMemset(slots_[0], 0, slot_n_ * sizeof(compensated_sum)), "memory");
  for (int s = 0; s < stream_n; ++s) slots_[s] = slots_[0] + first[s];
  check(cudaMalloc(&sum_slots_, sum_blocks * sizeof(compensated_sum)), "memory");
  check(cudaMallocHost(&result_, sizeof(sums)), "memory");
  check(cudaDeviceSynchronize(), "device");
}

cuda_accelerator::~cuda_accelerator() {
  cudaDeviceSynchronize();
  for (auto* s : streams_) cudaStreamDestroy(s);
  for (auto* m : marks_) cudaEventDestroy(m);
  cudaEventDestroy(summed_);
  cudaFree(slots_[0]);
  cudaFree(sum_slots_);
  cudaFreeHost(result_);
}

/// Memory for programs that do not use the library: nobody else copies to or from it.
class cuda_memory final : public device_memory {
 public:
  explicit cuda_memory(int number) : device_(number) {
    int n = 0;
    check(cudaGetDeviceCount(&n), "CUDA devices");
    device_ = number % n;
    check(cudaSetDevice(device_), "device");
  }
  ~cuda_memory() override {
    for (auto* p : pieces_) cudaFree(p);
  }
  int device() const override { return device_; }
  std::string name() const override { return properties().name; }
  std::string uuid() const override {
    auto const id = properties().uuid;
    return {id.bytes, sizeof id.bytes};
  }
  double* allocate(std::int64_t n) override {
    double* p = nullptr;
    check(cudaMalloc(&p, n * sizeof(double)), "memory");
    pieces_.push_back(p);
    return p;
  }
  void put(double* device, double const* host, std::int64_t n) override {
    check(cudaMemcpy(device, host, n * sizeof(double), cudaMemcpyHostToDevice), "copy");
  }
  void get(double* host, double const* device, std::int64_t n) override {
    check(cudaMemcpy(host, device, n * sizeof(double), cudaMemcpyDeviceToHost), "copy");
  }
  void finish() override {}

 private:
  cudaDeviceProp properties() const {
    cudaDeviceProp found{};
    check(cudaGetDeviceProperties(&found, device_), "device");
    return found;
  }

  int device_;
  std::vector<double*> pieces_;
};

}  // namespace

std::unique_ptr<backend> make_cuda_backend(backend_setup const& setup) {
  return make_device_backend(setup, std::make_unique<cuda_accelerator>(setup));
}

std::unique_ptr<device_memory> make_cuda_memory(int number) { return std::make_unique<cuda_memory>(number); }

}  // namespace heat3d
