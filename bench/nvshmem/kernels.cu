// NVSHMEM's communication by kernels, as a column of `atoll bench gpu`, under the same rules: rows have the keys, sizes and shapes of
// those of suites/gpu_kernels.cpp.

#include <cuda_runtime.h>
#include <nvshmem.h>
#include <nvshmemx.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "harness/cores.hpp"
#include "harness/group.hpp"
#include "harness/pattern.hpp"
#include "nvshmem/start.hpp"

namespace atl::bench {
namespace {

constexpr std::size_t mebi = std::size_t{1} << 20;

/// What kernels are given. Addresses are of symmetric memory.
struct ends {
  std::uint64_t* word;  ///< the peer's last step
  std::uint64_t* data;  ///< comes here
  std::uint64_t* own;   ///< is sent
  double* sums;
  int peer;
};

__global__ void values(ends e, std::uint64_t from, std::uint64_t n) {
  for (std::uint64_t i = from + 1; i <= from + n; ++i) {
    if (e.peer == 1) nvshmem_uint64_p(e.word, i, e.peer);
    nvshmem_uint64_wait_until(e.word, NVSHMEM_CMP_GE, i);
    if (e.peer == 0) nvshmem_uint64_p(e.word, i, e.peer);
  }
}

__global__ void values_with_signal(ends e, std::uint64_t from, std::uint64_t n) {
  for (std::uint64_t i = from + 1; i <= from + n; ++i) {
    if (e.peer == 1) nvshmem_uint64_put_signal(e.data, e.own, 1, e.word, i, NVSHMEM_SIGNAL_SET, e.peer);
    nvshmem_signal_wait_until(e.word, NVSHMEM_CMP_GE, i);
    if (e.peer == 0) nvshmem_uint64_put_signal(e.data, e.own, 1, e.word, i, NVSHMEM_SIGNAL_SET, e.peer);
  }
}

__global__ void puts_with_signal(ends e, std::uint64_t from, std::uint64_t n, std::size_t words) {
  for (std::uint64_t i = from + 1; i <= from + n; ++i) {
    if (e.peer == 1)
      nvshmemx_uint64_put_signal_block(e.data, e.own, words, e.word, i, NVSHMEM_SIGNAL_SET, e.peer);
    if (threadIdx.x == 0) nvshmem_signal_wait_until(e.word, NVSHMEM_CMP_GE, i);
    __syncthreads();
    if (e.peer == 0)
      nvshmemx_uint64_put_signal_block(e.data, e.own, words, e.word, i, NVSHMEM_SIGNAL_SET, e.peer);
  }
}

__global__ void barriers(std::uint64_t n) {
  for (std::uint64_t i = 0; i < n; ++i) nvshmem_barrier_all();
}

__global__ void sums(ends e, std::uint64_t n) {
  for (std::uint64_t i = 0; i < n; ++i) nvshmem_double_sum_reduce(NVSHMEM_TEAM_WORLD, e.sums + 1, e.sums, 1);
}

/// Each block puts its share.
__global__ void puts(ends e, std::uint64_t n, std::size_t words) {
  std::size_t const share = (words + gridDim.x - 1) / gridDim.x;
  std::size_t const begin = min(words, share * blockIdx.x);
  std::size_t const end = min(words, begin + share);
  for (std::uint64_t i = 0; i < n; ++i)
    nvshmemx_uint64_put_block(e.data + begin, e.own + begin, end - begin, e.peer);
}

class kernels {
 public:
  kernels(group& g, std::vector<std::size_t> const& sizes, std::size_t room)
      : g_(g),
        sizes_(sizes),
        e_{allocate_zeros<std::uint64_t>(1), allocate_zeros<std::uint64_t>(room / 8),
           allocate_zeros<std::uint64_t>(room / 8), allocate_zeros<double>(2), 1 - g.config().rank} {
    check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "cudaStreamCreate");
    int device = 0;
    check(cudaGetDevice(&device), "cudaGetDevice");
    check(cudaDeviceGetAttribute(&multiprocessors_, cudaDevAttrMultiProcessorCount, device),
          "cudaDeviceGetAttribute");
  }
  ~kernels() {
    check(cudaStreamDestroy(stream_), "cudaStreamDestroy");
    for (void* const each : {static_cast<void*>(e_.word), static_cast<void*>(e_.data),
                             static_cast<void*>(e_.own), static_cast<void*>(e_.sums)})
      nvshmem_free(each);
  }
  kernels(kernels const&) = delete;
  kernels& operator=(kernels const&) = delete;

  /// That data have come when the signal has, both ways, before any is timed.
  void check_data() {
    constexpr std::size_t bytes = 100'008;
    int const rank = g_.config().rank;
    std::vector<char> host(bytes);
    fill_pattern(host.data(), bytes, rank, 1);
    check(cudaMemcpy(e_.own, host.data(), bytes, cudaMemcpyHostToDevice), "cudaMemcpy");
    g_.meet();
    puts_with_signal<<<1, 1024, 0, stream_>>>(e_, steps_, 1, bytes / 8);
    ++steps_;
    finish();
    check(cudaMemcpy(host.data(), e_.data, bytes, cudaMemcpyDeviceToHost), "cudaMemcpy");
    check_pattern(host.data(), bytes, 1 - rank, "NVSHMEM put with signal by kernels", 1);
    g_.meet();
  }

  void run() {
    exchange("stamped", 16, [this](std::uint64_t n) { values<<<1, 1, 0, stream_>>>(e_, steps_, n); });
    for (std::size_t const bytes : sizes_) {
      if (bytes > 65536) continue;
      exchange("signal", bytes, [this, bytes](std::uint64_t n) {
        if (bytes <= 8) {
          values_with_signal<<<1, 1, 0, stream_>>>(e_, steps_, n);
        } else {
          puts_with_signal<<<1, bytes <= 4096 ? 128 : 1024, 0, stream_>>>(e_, steps_, n, bytes / 8);
        }
      });
    }
    exchange("barrier", 0, [this](std::uint64_t n) { barriers<<<1, 1, 0, stream_>>>(2 * n); });
    exchange("reduce", 8, [this](std::uint64_t n) { sums<<<1, 1, 0, stream_>>>(e_, 2 * n); });
    for (std::size_t const bytes : sizes_) {
      if (bytes < mebi) continue;
      put("put", bytes, 2 * multiprocessors_, 512);
      put("put_block", bytes, 1, 1024);
    }
  }

 private:
  void finish() {
    check(cudaGetLastError(), "launch");
    check(cudaStreamSynchronize(stream_), "cudaStreamSynchronize");
  }

  static row row_of(std::string const& key, std::size_t bytes) {
    return {.suite = "nvshmem", .key = "gpu.kernel." + key, .name = key, .bytes = bytes};
  }

  /// There and back n times.
  template <class Launch>
  void exchange(std::string const& key, std::size_t bytes, Launch const& launch) {
    row r = row_of(key, bytes);
    r.parts = 2;
    r.least = 2000;  // as in suites/gpu_kernels.cpp
    g_.symmetric(r, [&](std::uint64_t n) {
      launch(n);
      steps_ += n;
      finish();
    });
  }

  void put(std::string const& key, std::size_t bytes, int blocks, int threads) {
    row r = row_of(key, bytes);
    r.show = "bandwidth";
    r.least = 8;
    g_.served(r, [&](std::uint64_t n) {
      puts<<<static_cast<unsigned>(blocks), static_cast<unsigned>(threads), 0, stream_>>>(e_, n, bytes / 8);
      finish();
    });
  }

  group& g_;
  std::vector<std::size_t> const& sizes_;
  ends e_;
  cudaStream_t stream_ = nullptr;
  int multiprocessors_ = 1;
  std::uint64_t steps_ = 0;
};

void run(group_config const& c, std::vector<std::size_t> const& sizes, nvshmem_meeting& m) {
  start_nvshmem(c.rank, m, [](auto... how) { return nvshmemx_init_attr(how...); });
  std::size_t const room = std::max(*std::max_element(sizes.begin(), sizes.end()), mebi);
  bind_to_core(c.rank);  // only now: threads that NVSHMEM and CUDA have started stay free
  {
    group g(c);
    g.print_fact("nvshmem kernels", "API " + std::to_string(NVSHMEM_MAJOR_VERSION) + '.' +
                                        std::to_string(NVSHMEM_MINOR_VERSION));
    kernels k(g, sizes, room);
    k.check_data();
    k.run();
    g.meet();
  }
  std::fflush(stdout);
  nvshmem_finalize();
}

}  // namespace
}  // namespace atl::bench

int main(int argc, char** argv) { return atl::bench::run_over_nvshmem(argc, argv, &atl::bench::run); }
