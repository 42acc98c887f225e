// NVSHMEM's copies that the host starts, as columns of `atoll bench gpu`, under the same rules. Rank 0
// copies; rows have the keys of the library's rows that they stand beside.
//
// Two processes, of which the first starts the second, since NVSHMEM needs no launcher.

#include <cuda_runtime.h>
#include <nvshmem_host.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <sstream>
#include <string>
#include <vector>

#include "harness/group.hpp"
#include "harness/pattern.hpp"

namespace atl::bench {
namespace {

constexpr std::size_t mebi = std::size_t{1} << 20;

struct meeting {
  shared_lines lines;
  nvshmemx_uniqueid_t id;
  std::atomic<int> id_written;
};

void check(cudaError_t code, char const* what) {
  if (code == cudaSuccess) return;
  std::fprintf(stderr, "atoll-bench-nvshmem: %s: %s\n", what, cudaGetErrorString(code));
  std::exit(2);
}

/// The rank'th core that this process may use.
void bind(int rank) {
  cpu_set_t mask;
  CPU_ZERO(&mask);
  sched_getaffinity(0, sizeof mask, &mask);
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (!CPU_ISSET(core, &mask) || rank-- > 0) continue;
    CPU_ZERO(&mask);
    CPU_SET(core, &mask);
    sched_setaffinity(0, sizeof mask, &mask);
    return;
  }
}

void start_nvshmem(int rank, meeting& m) {
  nvshmemx_uniqueid_t id = NVSHMEMX_UNIQUEID_INITIALIZER;
  if (rank == 0) {
    if (nvshmemx_get_uniqueid(&id) != 0) std::exit(2);
    m.id = id;
    m.id_written.store(1, std::memory_order_release);
  } else {
    while (m.id_written.load(std::memory_order_acquire) == 0) sched_yield();
    id = m.id;
  }
  nvshmemx_init_attr_t attributes = NVSHMEMX_INIT_ATTR_INITIALIZER;
  if (nvshmemx_set_attr_uniqueid_args(rank, 2, &id, &attributes) != 0 ||
      nvshmemx_hostlib_init_attr(NVSHMEMX_INIT_WITH_UNIQUEID, &attributes) != 0) {
    std::fprintf(stderr, "atoll-bench-nvshmem: cannot start NVSHMEM\n");
    std::exit(2);
  }
}

/// A way to copy from rank 0 to rank 1 or back: how it is started, and how all that was started
/// is waited for.
struct way {
  char const* suite;
  char const* direction;  ///< put or get
  void (*start)(char* own, char* peers, std::size_t bytes, cudaStream_t stream);
  void (*wait)(cudaStream_t stream);
};

void quiet(cudaStream_t) { nvshmem_quiet(); }
void synchronize(cudaStream_t stream) { cudaStreamSynchronize(stream); }

// Of the host's own, the forms that do not wait by themselves.
constexpr way ways[] = {
    {"nvshmem", "put",
     [](char* own, char* peers, std::size_t n, cudaStream_t) { nvshmem_putmem_nbi(peers, own, n, 1); },
     quiet},
    {"nvshmem", "get",
     [](char* own, char* peers, std::size_t n, cudaStream_t) { nvshmem_getmem_nbi(own, peers, n, 1); },
     quiet},
    {"nvshmem_stream", "put",
     [](char* own, char* peers, std::size_t n, cudaStream_t s) {
       nvshmemx_putmem_on_stream(peers, own, n, 1, s);
     },
     synchronize},
    {"nvshmem_stream", "get",
     [](char* own, char* peers, std::size_t n, cudaStream_t s) {
       nvshmemx_getmem_on_stream(own, peers, n, 1, s);
     },
     synchronize},
};

void run_way(group& g, way const& w, std::vector<std::size_t> const& sizes, char* own, char* peers,
             cudaStream_t stream) {
  std::string const key = std::string("gpu.") + w.direction;
  auto const start = [&](std::size_t bytes, std::uint64_t n) {
    for (std::uint64_t i = 0; i < n; ++i) w.start(own, peers, bytes, stream);
  };
  for (std::size_t const bytes : sizes) {
    row r{.suite = w.suite, .key = key + ".time", .name = w.direction, .bytes = bytes};
    g.served(r, [&](std::uint64_t n) {
      for (std::uint64_t i = 0; i < n; ++i) {
        w.start(own, peers, bytes, stream);
        w.wait(stream);
      }
    });
    if (bytes <= mebi) {
      r.key = key + ".injection";
      r.most = 128;  // as in suites/gpu.cpp
      g.served(
          r, [&](std::uint64_t n) { start(bytes, n); }, {}, [&](std::uint64_t) { w.wait(stream); });
    }
    row f{.suite = w.suite, .key = key + ".flood", .name = w.direction, .bytes = bytes};
    f.show = bytes < 1024 ? "rate" : "bandwidth";
    f.least = 16;
    g.served(f, [&](std::uint64_t n) {
      start(bytes, n);
      w.wait(stream);
    });
  }
}

/// That a put arrives, before any is timed.
void check_put(group& g, way const& w, char* own, char* peers, cudaStream_t stream) {
  constexpr std::size_t bytes = 100'003;
  std::vector<char> host(bytes);
  fill_pattern(host.data(), bytes, 0);
  if (g.first()) {
    check(cudaMemcpy(own, host.data(), bytes, cudaMemcpyHostToDevice), "cudaMemcpy");
    w.start(own, peers, bytes, stream);
    w.wait(stream);
  }
  g.meet();
  if (!g.first()) {
    check(cudaMemcpy(host.data(), peers, bytes, cudaMemcpyDeviceToHost), "cudaMemcpy");
    check_pattern(host.data(), bytes, 0, "NVSHMEM put");
  }
  g.meet();
}

void run(group_config c, std::vector<std::size_t> const& sizes, meeting& m) {
  int devices = 0;
  check(cudaGetDeviceCount(&devices), "cudaGetDeviceCount");
  check(cudaSetDevice(c.rank % std::max(devices, 1)), "cudaSetDevice");
  start_nvshmem(c.rank, m);
  std::size_t const room = std::max(*std::max_element(sizes.begin(), sizes.end()), mebi);
  auto* const own = static_cast<char*>(nvshmem_malloc(room));
  auto* const peers = static_cast<char*>(nvshmem_malloc(room));
  if (own == nullptr || peers == nullptr) {
    std::fprintf(stderr, "atoll-bench-nvshmem: no memory; NVSHMEM_SYMMETRIC_SIZE sets how much there is\n");
    std::exit(2);
  }
  cudaStream_t stream = nullptr;
  check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreate");
  bind(c.rank);  // only now: threads that NVSHMEM and CUDA have started stay free
  c.ranks = 2;
  c.shared = &m.lines;
  c.idle = [] { pause(); };
  {
    group g(c);
    int major = 0;
    int minor = 0;
    nvshmem_info_get_version(&major, &minor);
    g.print_fact("nvshmem", "API " + std::to_string(major) + '.' + std::to_string(minor));
    for (way const& w : ways) {
      if (w.direction == std::string("put")) check_put(g, w, own, peers, stream);
      run_way(g, w, sizes, own, peers, stream);
    }
    g.meet();
  }
  std::fflush(stdout);
  check(cudaStreamDestroy(stream), "cudaStreamDestroy");
  nvshmem_free(peers);
  nvshmem_free(own);
  nvshmemx_hostlib_finalize();
}

}  // namespace
}  // namespace atl::bench

int main(int argc, char** argv) {
  using namespace atl::bench;
  group_config config;
  std::vector<std::size_t> sizes;
  for (int i = 1; i < argc; ++i) {
    std::string const word = argv[i];
    auto const equals = word.find('=');
    std::string const name = word.substr(0, equals);
    std::string const value = equals == std::string::npos ? "" : word.substr(equals + 1);
    if (name == "device_sizes") {
      std::istringstream in(value);
      for (std::string size; std::getline(in, size, ',');)
        sizes.push_back(std::strtoull(size.c_str(), nullptr, 10));
    } else if (name == "blocks") {
      config.blocks = std::atoi(value.c_str());
    } else if (name == "block_us") {
      config.block_us = std::atof(value.c_str());
    } else if (name == "give_up_us") {
      config.give_up_us = std::atof(value.c_str());
    }
  }
  if (sizes.empty()) sizes = {8};
  // A program that uses NVLink's multicast can put a host's GPUs out of service if it dies;
  // nothing here needs it.
  setenv("NVSHMEM_DISABLE_NVLS", "1", 1);
  void* const shared =
      mmap(nullptr, sizeof(meeting), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) return 2;
  auto* const m = new (shared) meeting{};
  pid_t const parent = getpid();
  pid_t const child = fork();
  if (child < 0) return 2;
  config.rank = child == 0 ? 1 : 0;
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) return 2;
  }
  run(config, sizes, *m);
  if (child == 0) return 0;
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 2;
}
