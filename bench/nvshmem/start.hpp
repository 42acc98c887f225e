#pragma once

/// What both programs over NVSHMEM begin with.

#include <cuda_runtime.h>
#include <nvshmem_host.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "harness/cuda_check.hpp"
#include "harness/processes.hpp"

namespace atl::bench {

using nvshmem_meeting = meeting<nvshmemx_uniqueid_t>;

/// Two ranks, each on a device of its own where there are two. `init` is NVSHMEM's function for what is used of it.
template <class Init>
void start_nvshmem(int rank, nvshmem_meeting& m, Init const& init) {
  int devices = 0;
  check(cudaGetDeviceCount(&devices), "cudaGetDeviceCount");
  check(cudaSetDevice(rank % std::max(devices, 1)), "cudaSetDevice");
  nvshmemx_uniqueid_t id = m.agree(rank, [] {
    nvshmemx_uniqueid_t made = NVSHMEMX_UNIQUEID_INITIALIZER;
    if (nvshmemx_get_uniqueid(&made) != 0) std::exit(2);
    return made;
  });
  nvshmemx_init_attr_t attributes = NVSHMEMX_INIT_ATTR_INITIALIZER;
  if (nvshmemx_set_attr_uniqueid_args(rank, 2, &id, &attributes) != 0 ||
      init(NVSHMEMX_INIT_WITH_UNIQUEID, &attributes) != 0) {
    std::fprintf(stderr, "%s: cannot start NVSHMEM\n", program_invocation_short_name);
    std::exit(2);
  }
}

/// Symmetric memory; ends the program if there is none.
template <class T>
T* allocate_zeros(std::size_t n) {
  auto* const memory = static_cast<T*>(nvshmem_calloc(n, sizeof(T)));
  if (memory != nullptr) return memory;
  std::fprintf(stderr, "%s: no memory; NVSHMEM_SYMMETRIC_SIZE sets how much there is\n",
               program_invocation_short_name);
  std::exit(2);
}

/// Runs `run` in both ranks, each in a process of its own, and returns the program's exit status. Without NVLink's multicast: a program that
/// uses it can put a host's GPUs out of service if it dies, and nothing here needs it.
inline int run_over_nvshmem(int argc, char** argv,
                            void (*run)(group_config const&, std::vector<std::size_t> const& sizes,
                                        nvshmem_meeting&)) {
  process_options const options = process_options_of(argc, argv);
  setenv("NVSHMEM_DISABLE_NVLS", "1", 1);
  nvshmem_meeting& m = nvshmem_meeting::make();
  return run_processes(options.config, m, [&](group_config const& c) { run(c, options.device_sizes, m); });
}

}  // namespace atl::bench
