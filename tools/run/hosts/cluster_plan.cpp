#include "run/hosts/cluster_plan.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <string_view>

#include "base/error.hpp"
#include "base/os/host_name.hpp"
#include "base/os/memfd.hpp"
#include "bootstrap/keeper/orders.hpp"
#include "run/spawn.hpp"

namespace atl::tools {
namespace {

/// What ranks of other hosts get of our environment, where the launcher passes on only what it is told: all that Atoll, its networks and what programs are
/// usually made with look at.
bool is_forwarded(std::string_view line) {
  constexpr std::array<std::string_view, 14> beginnings{
      "ATOLL_", "UPCXX_", "GASNET_",          "UCX_",  "FI_",        "OMP_", "KOKKOS_", "CUDA_", "HIP_",
      "ROCR_",  "ZE_",    "LD_LIBRARY_PATH=", "PATH=", "LD_PRELOAD="};
  return std::any_of(beginnings.begin(), beginnings.end(),
                     [&](std::string_view b) { return line.starts_with(b); });
}

std::string name_of(std::string_view line) { return std::string(line.substr(0, line.find('='))); }

/// For keepers, which say then what ranks are doing.
std::string end_of_job(std::chrono::duration<double> timeout) {
  using std::chrono::duration_cast;
  using std::chrono::milliseconds;
  auto const whole = duration_cast<milliseconds>(timeout).count();
  auto const now = duration_cast<milliseconds>(std::chrono::system_clock::now().time_since_epoch()).count();
  return format("ATOLL_JOB_ENDS=%lld,%lld", static_cast<long long>(now + whole),
                static_cast<long long>(whole));
}

int number_of(char const* variable) {
  char const* const text = std::getenv(variable);
  return text != nullptr ? std::atoi(text) : 0;
}

/// Starts `atoll picture` on the first host: its keeper tells the others.
std::vector<std::string> words_to_ask(cluster_plan const& plan) {
  launcher by = plan.by;
  if (by.kind == launcher_kind::srun) by.mpi = "none";
  cluster_start start = plan.start;
  start.ranks = start.host_count = 1;
  start.tagged = false;
  start.beside = true;
  if (!start.hosts.empty()) start.hosts = {{start.hosts.front().name, 1}};
  run_options options;
  options.path = std::filesystem::read_symlink("/proc/self/exe").string();
  options.arguments = {"picture", plan.id};
  options.input = input_mode::none;
  return words_for(by, start, options);
}

/// Of a `salloc` whose shell stays where it was called: batch scripts and steps know the name of their host.
bool is_outside_of_its_host() {
  char const* const host = std::getenv("SLURM_JOB_NODELIST");
  if (host == nullptr || std::getenv("SLURMD_NODENAME") != nullptr || std::getenv("SLURM_STEP_ID") != nullptr)
    return false;
  std::string const here = os::host_name();
  return !here.empty() && here.substr(0, here.find('.')) != host;
}

}  // namespace

bool inside_slurm_allocation() {
  int const hosts = number_of("SLURM_JOB_NUM_NODES");
  if (hosts < 1 || (hosts == 1 && !is_outside_of_its_host())) return false;
  // Batch scripts and interactive shells are steps with the highest numbers, or none.
  char const* const step = std::getenv("SLURM_STEP_ID");
  return step == nullptr || std::strtoull(step, nullptr, 10) >= 4294967280ULL;
}

cluster_plan plan_cluster(run_options const& options) {
  cluster_plan plan;
  cluster_request const& asked = *options.cluster;
  bool const slurm = std::getenv("SLURM_JOB_ID") != nullptr;
  plan.by = find_launcher(asked.launcher, slurm);
  plan.start.ranks = asked.ranks;
  if (!asked.hosts.empty()) {
    plan.start.hosts = deal_out(asked.hosts, asked.count, asked.ranks);
    plan.start.ranks = 0;
    for (host_share const& each : plan.start.hosts) plan.start.ranks += each.ranks;
  } else if (slurm) {
    plan.start.host_count = asked.count;
  } else {
    throw startup_error(format(
        "-N %d: which hosts? Name them: --hosts a,b or --hostfile FILE; inside an allocation of Slurm that is not needed. --localhost has all ranks on this host",
        asked.count));
  }
  plan.environment = rank_environment(options);
  std::erase_if(plan.environment,
                [](std::string const& line) { return line.starts_with("GASNET_PSHM_NODES="); });
  if (options.timeout) plan.environment.push_back(end_of_job(*options.timeout));
  plan.id = os::random_hex(8);
  plan.environment.push_back(std::string(keeping::job_variable) + "=" + plan.id);
  for (std::string const& line : plan.environment) {
    std::string const name = name_of(line);
    bool const wanted = std::any_of(options.environment.begin(), options.environment.end(),
                                    [&](std::string const& added) { return name_of(added) == name; });
    if (wanted || is_forwarded(line)) plan.start.variables.push_back(name);
  }
  // Who starts jobs as root on one host may do so on several.
  if (::geteuid() == 0) {
    for (char const* const name : {"OMPI_ALLOW_RUN_AS_ROOT", "PRTE_ALLOW_RUN_AS_ROOT"}) {
      plan.environment.push_back(std::string(name) + "=1");
      plan.environment.push_back(std::string(name) + "_CONFIRM=1");
    }
  }
  // With tags lines come together again that have come in pieces. A job of one rank is passed on as it comes; srun passes on whole lines, and cuts
  // long ones with tags only.
  plan.start.tagged = options.tag || (plan.start.ranks != 1 && plan.by.kind != launcher_kind::srun);
  run_options absolute = options;
  absolute.path = std::filesystem::absolute(options.path).lexically_normal().string();
  plan.words = words_for(plan.by, plan.start, absolute);
  plan.asking = words_to_ask(plan);
  return plan;
}

}  // namespace atl::tools
