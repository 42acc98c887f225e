// NVSHMEM's copies that the host starts, as columns of `atoll bench gpu`, under the same rules. Rank 0
// copies; with signals both do, in turn. Rows have the keys of the library's rows that they stand beside.
//
// Two processes, of which the first starts the second, since NVSHMEM needs no launcher.

#include <algorithm>
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

/// A way to copy from rank 0 to rank 1 or back: how it is started, and how all that was started
/// is waited for.
struct way {
  char const* suite;
  char const* direction;  ///< put or get
  void (*start)(char* own, char* peers, std::size_t bytes, cudaStream_t stream);
  void (*wait)(cudaStream_t stream);
};

void quiet(cudaStream_t) { nvshmem_quiet(); }
void synchronize(cudaStream_t stream) { check(cudaStreamSynchronize(stream), "cudaStreamSynchronize"); }

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

/// Puts with a signal in streams, for which the peer's stream waits before it answers.
class signals {
 public:
  signals(group& g, char* own, char* peers, cudaStream_t stream)
      : g_(g), own_(own), peers_(peers), stream_(stream) {}
  ~signals() { nvshmem_free(word_); }
  signals(signals const&) = delete;
  signals& operator=(signals const&) = delete;

  /// That data have come when the stream goes on, both ways.
  void check_data() {
    constexpr std::size_t bytes = 100'003;
    int const rank = g_.config().rank;
    std::vector<char> host(bytes);
    fill_pattern(host.data(), bytes, rank, 1);
    check(cudaMemcpyAsync(own_, host.data(), bytes, cudaMemcpyHostToDevice, stream_), "cudaMemcpyAsync");
    there_and_back(bytes);
    check(cudaMemcpyAsync(host.data(), peers_, bytes, cudaMemcpyDeviceToHost, stream_), "cudaMemcpyAsync");
    synchronize(stream_);
    check_pattern(host.data(), bytes, 1 - rank, "NVSHMEM put with signal", 1);
    g_.meet();
  }

  void run(std::vector<std::size_t> const& sizes) {
    for (std::size_t const bytes : sizes) {
      if (bytes > mebi) continue;  // as in suites/gpu_streams.cpp
      row r{.suite = "nvshmem_stream", .key = "gpu.stream.signal", .name = "put with signal", .bytes = bytes};
      r.parts = 2;
      g_.symmetric(r, [&](std::uint64_t n) {
        for (std::uint64_t i = 0; i < n; ++i) there_and_back(bytes);
        synchronize(stream_);
      });
    }
  }

 private:
  void there_and_back(std::size_t bytes) {
    ++step_;
    if (g_.first()) there(bytes);
    nvshmemx_signal_wait_until_on_stream(word_, NVSHMEM_CMP_GE, step_, stream_);
    if (!g_.first()) there(bytes);
  }
  void there(std::size_t bytes) {
    nvshmemx_putmem_signal_on_stream(peers_, own_, bytes, word_, step_, NVSHMEM_SIGNAL_SET,
                                     1 - g_.config().rank, stream_);
  }

  group& g_;
  char* own_;
  char* peers_;
  cudaStream_t stream_;
  std::uint64_t* word_ = allocate_zeros<std::uint64_t>(1);  ///< the peer's last step
  std::uint64_t step_ = 0;
};

void run(group_config const& c, std::vector<std::size_t> const& sizes, nvshmem_meeting& m) {
  start_nvshmem(c.rank, m, [](auto... how) { return nvshmemx_hostlib_init_attr(how...); });
  std::size_t const room = std::max(*std::max_element(sizes.begin(), sizes.end()), mebi);
  auto* const own = allocate_zeros<char>(room);
  auto* const peers = allocate_zeros<char>(room);
  cudaStream_t stream = nullptr;
  check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreate");
  bind_to_core(c.rank);  // only now: threads that NVSHMEM and CUDA have started stay free
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
    signals s(g, own, peers, stream);
    s.check_data();
    s.run(sizes);
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

int main(int argc, char** argv) { return atl::bench::run_over_nvshmem(argc, argv, &atl::bench::run); }
