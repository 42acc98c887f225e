#include "gpu_peers.hpp"

#include <cstdio>
#include <cstdlib>

#include "base/os/search_path.hpp"
#include "memory/cuda/api.hpp"
#include "result.hpp"
#include "ucx.hpp"

namespace atl::tools {
namespace {

struct found_devices {
  int count = 0;
  std::string missing;  ///< why there is none
};

found_devices find_devices() {
  char const* const chosen = std::getenv("ATOLL_CUDA_DRIVER");
  memory::cuda::api cuda;
  if (char const* const absent = cuda.load(chosen != nullptr ? chosen : "libcuda.so.1")) return {0, absent};
  int devices = 0;
  if (cuda.init(0) != memory::cuda::success || cuda.device_count(&devices) != memory::cuda::success) {
    return {0, "the CUDA driver does not start"};
  }
  return {devices, devices == 0 ? "no CUDA device" : ""};
}

/// A peer that stands still must not hold up the rest.
command_line limited(command_line command) {
  if (!os::find_on_path("timeout").empty()) {
    command.words.insert(command.words.begin(), {"timeout", "-k", "5", "60"});
  }
  return command;
}

class peers_of_gpus {
 public:
  peers_of_gpus(programs const& p, bench_options const& o,
                std::function<void(peer_figure const&)> const& take_figure,
                std::function<void(std::string const&, std::string const&)> const& take_fact)
      : programs_(p), options_(o), take_figure_(take_figure), take_fact_(take_fact) {}

  void measure() {
    auto const [devices, missing] = find_devices();
    if (!missing.empty()) {
      take_fact_("gpu peers", "not measured: " + missing);
      return;
    }
    for (int const ranks : options_.ranks) {
      if (ranks == 2) measure_pairs();
      // Of more ranks than devices, the suite itself says that they are not measured.
      if (ranks == 2 || ranks <= devices) {
        measure_program(programs_.nccl, ranks,
                        ranks == 2 ? "nccl" : "nccl, " + std::to_string(ranks) + " ranks");
      }
    }
  }

 private:
  void measure_pairs() {
    if (options_.mpi) {
      measure_mpi("messages", "mpi.gpu");
      measure_mpi("puts", "mpi_put.gpu");
    }
    measure_program(programs_.nvshmem, 2, "nvshmem");
    measure_program(programs_.nvshmem_kernels, 2, "nvshmem kernels");
    measure_ucx();
  }

  void measure_mpi(std::string const& how, std::string const& fact) {
    if (programs_.mpi.empty() || programs_.mpirun.empty()) {
      take_fact_(fact, programs_.mpi.empty() ? "not built" : "not measured: no mpirun in PATH");
      return;
    }
    auto command = mpi_command(programs_, options_, 2);
    command.words.push_back("gpu=" + how);
    // What mpirun says of a rank that died is long, and expected of an MPI that knows no GPUs.
    run(std::move(command), fact, "failed: this MPI does not take GPU memory");
  }

  /// One that starts its ranks itself.
  void measure_program(std::string const& program, int ranks, std::string const& fact) {
    if (program.empty()) {
      take_fact_(fact, "not built");
      return;
    }
    command_line command{{program}, {}};
    for (auto const& word : measuring_options(options_, ranks)) command.words.push_back(word);
    command.words.push_back("ranks=" + std::to_string(ranks));
    run(std::move(command), fact, "failed");
  }

  void measure_ucx() {
    if (programs_.ucx_perftest.empty()) {
      take_fact_("ucx", "not measured: no ucx_perftest in PATH");
      return;
    }
    bool const good = tools::measure_ucx(programs_.ucx_perftest, options_.device_sizes, options_.quick,
                                         [this](std::string const& key, std::size_t bytes, double ns) {
                                           take_figure_({peer::ucx, key, bytes, ns});
                                         });
    take_fact_("ucx", good ? programs_.ucx_perftest : programs_.ucx_perftest + " failed on GPU memory");
  }

  /// Takes what the program prints. Its last word about itself is the fact.
  void run(command_line command, std::string const& fact, std::string const& failure) {
    std::string said;
    command.quiet = true;
    int const status = listen(limited(std::move(command)), [&](std::string const& line) {
      auto const record = ::atl::bench::decode(line);
      if (!record) return;
      if (record->kind == "fact") said = record->get("value");
      if (record->kind == "row") take_row(*record);
    });
    if (status == 124) said = "stopped after a minute";
    if (status != 0 && status != 124) said = failure + " (status " + std::to_string(status) + ")";
    take_fact_(fact, said);
  }

  void take_row(::atl::bench::record const& record) {
    result const r = evaluate(record);
    for (std::size_t i = 0; i < peers.size(); ++i) {
      if (peers[i].name == r.suite)
        take_figure_({static_cast<peer>(i), r.key, r.bytes, r.median_ns, r.ranks});
    }
  }

  programs const& programs_;
  bench_options const& options_;
  std::function<void(peer_figure const&)> const& take_figure_;
  std::function<void(std::string const&, std::string const&)> const& take_fact_;
};

}  // namespace

void measure_gpu_peers(programs const& p, bench_options const& o,
                       std::function<void(peer_figure const&)> const& take_figure,
                       std::function<void(std::string const&, std::string const&)> const& take_fact) {
  peers_of_gpus(p, o, take_figure, take_fact).measure();
}

}  // namespace atl::tools
