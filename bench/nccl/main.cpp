// NCCL's collectives as a column of `atoll bench gpu`, under the same rules: rows have the keys of the library's rows that they
// stand beside, and work in place where those do. The memory is NCCL's own and registered, as ours is.
//
// A process for each of two GPUs or more, of which the first starts the others, since NCCL needs no launcher.

#include <cuda_runtime.h>
#include <nccl.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "harness/cores.hpp"
#include "harness/cuda_check.hpp"
#include "harness/group.hpp"
#include "harness/pattern.hpp"
#include "harness/processes.hpp"

namespace atl::bench {
namespace {

constexpr std::size_t mebi = std::size_t{1} << 20;
constexpr int calls_per_graph = 16;  // as in suites/gpu_collectives.cpp

using nccl_meeting = meeting<ncclUniqueId>;

using atl::bench::check;  // of CUDA's
void check(ncclResult_t code, char const* what) {
  if (code == ncclSuccess) return;
  std::fprintf(stderr, "atoll-bench-nccl: %s: %s. %s\n", what, ncclGetErrorString(code),
               ncclGetLastError(nullptr));
  std::exit(2);
}

/// Ranks of which each has memory on its GPU and a stream.
class communicator {
 public:
  communicator(int rank, int ranks, nccl_meeting& m, std::size_t bytes) : rank_(rank), ranks_(ranks) {
    check(cudaSetDevice(rank), "cudaSetDevice");
    ncclUniqueId const id = m.agree(rank, [] {
      ncclUniqueId made;
      check(ncclGetUniqueId(&made), "ncclGetUniqueId");
      return made;
    });
    check(ncclCommInitRank(&comm_, ranks, id, rank), "ncclCommInitRank");
    void* memory = nullptr;
    check(ncclMemAlloc(&memory, 2 * bytes), "ncclMemAlloc");
    check(ncclCommRegister(comm_, memory, 2 * bytes, &registered_), "ncclCommRegister");
    data_ = static_cast<char*>(memory);
    apart_ = data_ + bytes;
    check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
  }
  communicator(communicator const&) = delete;
  communicator& operator=(communicator const&) = delete;

  /// All ranks.
  void destroy() {
    check(cudaStreamDestroy(stream_), "cudaStreamDestroy");
    check(ncclCommDeregister(comm_, registered_), "ncclCommDeregister");
    check(ncclMemFree(data_), "ncclMemFree");
    check(ncclCommDestroy(comm_), "ncclCommDestroy");
  }

  void sum(std::size_t n) {
    check(ncclAllReduce(data_, data_, n, ncclDouble, ncclSum, comm_, stream_), "ncclAllReduce");
  }
  void broadcast(std::size_t bytes) {
    check(ncclBroadcast(data_, data_, bytes, ncclChar, 0, comm_, stream_), "ncclBroadcast");
  }
  void gather_all(std::size_t bytes_each) {
    check(ncclAllGather(data_ + static_cast<std::size_t>(rank_) * bytes_each, data_, bytes_each, ncclChar,
                        comm_, stream_),
          "ncclAllGather");
  }
  /// From the other half of the memory, as it has no form in place.
  void all_to_all(std::size_t bytes_each) {
    check(ncclGroupStart(), "ncclGroupStart");
    for (int rank = 0; rank < ranks_; ++rank) {
      std::size_t const place = static_cast<std::size_t>(rank) * bytes_each;
      check(ncclSend(apart_ + place, bytes_each, ncclChar, rank, comm_, stream_), "ncclSend");
      check(ncclRecv(data_ + place, bytes_each, ncclChar, rank, comm_, stream_), "ncclRecv");
    }
    check(ncclGroupEnd(), "ncclGroupEnd");
  }
  void wait() { check(cudaStreamSynchronize(stream_), "cudaStreamSynchronize"); }

  /// What `call` starts here, so many times, ready to be launched.
  template <class Call>
  cudaGraphExec_t capture_calls(Call const& call) {
    cudaGraph_t graph = nullptr;
    check(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal), "cudaStreamBeginCapture");
    for (int i = 0; i < calls_per_graph; ++i) call();
    check(cudaStreamEndCapture(stream_, &graph), "cudaStreamEndCapture");
    cudaGraphExec_t ready = nullptr;
    check(cudaGraphInstantiateWithFlags(&ready, graph, 0), "cudaGraphInstantiate");
    check(cudaGraphDestroy(graph), "cudaGraphDestroy");
    return ready;
  }
  void launch(cudaGraphExec_t graph) { check(cudaGraphLaunch(graph, stream_), "cudaGraphLaunch"); }

  template <class T>
  void write(std::vector<T> const& from) {
    write(data_, from);
  }
  /// What all_to_all() sends.
  template <class T>
  void write_apart(std::vector<T> const& from) {
    write(apart_, from);
  }
  template <class T>
  void read(std::vector<T>& to) {
    check(cudaMemcpyAsync(to.data(), data_, to.size() * sizeof(T), cudaMemcpyDeviceToHost, stream_),
          "cudaMemcpyAsync");
    wait();
  }
  /// Sums of zeros stay what they are, however many are timed.
  void clear(std::size_t bytes) {
    for (char* const half : {data_, apart_})
      check(cudaMemsetAsync(half, 0, bytes, stream_), "cudaMemsetAsync");
    wait();
  }

  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] int ranks() const { return ranks_; }

 private:
  template <class T>
  void write(char* to, std::vector<T> const& from) {
    check(cudaMemcpyAsync(to, from.data(), from.size() * sizeof(T), cudaMemcpyHostToDevice, stream_),
          "cudaMemcpyAsync");
    wait();
  }

  int rank_;
  int ranks_;
  ncclComm_t comm_ = nullptr;
  void* registered_ = nullptr;
  cudaStream_t stream_ = nullptr;
  char* data_ = nullptr;
  char* apart_ = nullptr;  ///< as much again
};

/// `start` sums n numbers of all ranks, and that result `again` times more.
template <class Start>
void check_sum(communicator& all, char const* what, int again, std::size_t n, Start const& start) {
  std::vector<double> values(n);
  for (std::size_t i = 0; i < n; ++i) values[i] = all.rank() + 1 + static_cast<double>(i % 100);
  all.write(values);
  start();
  all.read(values);
  double const ranks = all.ranks();
  for (std::size_t i = 0; i < n; ++i) {
    // Exact: integers of less than 53 bits.
    double right = ranks * (ranks + 1) / 2 + ranks * static_cast<double>(i % 100);
    for (int k = 0; k < again; ++k) right *= ranks;
    if (values[i] != right) wrong_data(std::string(what) + ", number " + std::to_string(i));
  }
}

/// Every call once, before any is timed.
void check_results(communicator& all) {
  constexpr std::size_t numbers = 100'003;
  check_sum(all, "NCCL sum", 0, numbers, [&] { all.sum(numbers); });
  cudaGraphExec_t const graph = all.capture_calls([&] { all.sum(numbers); });
  check_sum(all, "NCCL sums in a graph", calls_per_graph - 1, numbers, [&] { all.launch(graph); });
  check(cudaGraphExecDestroy(graph), "cudaGraphExecDestroy");

  constexpr std::size_t each = 50'001;
  std::vector<char> host(static_cast<std::size_t>(all.ranks()) * each);
  fill_pattern(host.data(), host.size(), all.rank());
  all.write(host);
  all.broadcast(host.size());
  all.read(host);
  check_pattern(host.data(), host.size(), 0, "NCCL broadcast");

  std::fill(host.begin(), host.end(), char{0});
  fill_pattern(host.data() + static_cast<std::size_t>(all.rank()) * each, each, all.rank(), 1);
  all.write(host);
  all.gather_all(each);
  all.read(host);
  for (int rank = 0; rank < all.ranks(); ++rank) {
    check_pattern(host.data() + static_cast<std::size_t>(rank) * each, each, rank, "NCCL gather to all", 1);
  }

  auto const round_for = [](int receiver) { return 2 + static_cast<unsigned>(receiver); };
  for (int rank = 0; rank < all.ranks(); ++rank)
    fill_pattern(host.data() + static_cast<std::size_t>(rank) * each, each, all.rank(), round_for(rank));
  all.write_apart(host);
  all.all_to_all(each);
  all.read(host);
  for (int rank = 0; rank < all.ranks(); ++rank) {
    check_pattern(host.data() + static_cast<std::size_t>(rank) * each, each, rank, "NCCL all to all",
                  round_for(all.rank()));
  }
}

void measure(group& g, communicator& all, std::vector<std::size_t> const& sizes) {
  // As in suites/gpu_collectives.cpp.
  for (std::size_t const bytes : sizes) {
    auto const add_rows = [&](std::string const& name, auto const& call) {
      row r{.suite = "nccl", .key = "gpu.stream." + name, .name = name, .bytes = bytes};
      r.least = 16;
      g.symmetric(r, [&](std::uint64_t times) {
        for (std::uint64_t i = 0; i < times; ++i) call();
        all.wait();
      });
      if (bytes > mebi) return;
      cudaGraphExec_t const graph = all.capture_calls(call);
      row in_graph{.suite = "nccl", .key = "gpu.graph." + name, .name = name + " in a graph", .bytes = bytes};
      in_graph.parts = calls_per_graph;
      in_graph.least = 4;
      g.symmetric(in_graph, [&](std::uint64_t times) {
        for (std::uint64_t i = 0; i < times; ++i) all.launch(graph);
        all.wait();
      });
      check(cudaGraphExecDestroy(graph), "cudaGraphExecDestroy");
    };
    if (std::size_t const numbers = bytes / sizeof(double); numbers > 0)
      add_rows("reduce", [&] { all.sum(numbers); });
    add_rows("broadcast", [&] { all.broadcast(bytes); });
    if (std::size_t const each = bytes / static_cast<std::size_t>(all.ranks()); each > 0) {
      add_rows("gather_all", [&] { all.gather_all(each); });
      add_rows("all_to_all", [&] { all.all_to_all(each); });
    }
  }
}

std::string version() {
  int number = 0;
  check(ncclGetVersion(&number), "ncclGetVersion");
  return std::to_string(number / 10'000) + '.' + std::to_string(number / 100 % 100) + '.' +
         std::to_string(number % 100);
}

void run(group_config const& c, std::vector<std::size_t> const& sizes, nccl_meeting& m) {
  int devices = 0;
  check(cudaGetDeviceCount(&devices), "cudaGetDeviceCount");
  group g(c);
  if (devices < c.ranks) {
    g.print_fact("nccl", "not measured: it needs a GPU for each of " + std::to_string(c.ranks) +
                             " ranks, and there are " + std::to_string(devices));
    return;
  }
  std::size_t const room = std::max(*std::max_element(sizes.begin(), sizes.end()), mebi);
  communicator all(c.rank, c.ranks, m, room);
  check_results(all);
  all.clear(room);
  bind_to_core(c.rank);  // only now: threads that NCCL and CUDA have started stay free
  g.print_fact("nccl", version());
  measure(g, all, sizes);
  g.meet();
  std::fflush(stdout);
  all.destroy();
}

}  // namespace
}  // namespace atl::bench

int main(int argc, char** argv) {
  // A program that uses NVLink's multicast can put a host's GPUs out of service if it dies.
  setenv("NCCL_NVLS_ENABLE", "0", 1);
  using namespace atl::bench;
  process_options const options = process_options_of(argc, argv);
  nccl_meeting& m = nccl_meeting::make();
  return run_processes(options.config, m, [&](group_config const& c) { run(c, options.device_sizes, m); });
}
