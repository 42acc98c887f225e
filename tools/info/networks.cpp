#include "info/networks.hpp"

#include <cstdio>
#include <filesystem>
#include <vector>

#include "base/error.hpp"
#include "base/os/host_name.hpp"
#include "base/settings.hpp"
#include "bootstrap/bootstrap.hpp"
#include "info/device_lines.hpp"
#include "info/host_table.hpp"
#include "run/hosts/cluster_job.hpp"
#include "run/options.hpp"
#include "transport/device_memory.hpp"
#include "transport/gpu_places.hpp"
#include "transport/nearest_devices.hpp"
#include "transport/plugins.hpp"

namespace atl::tools {
namespace {

host_facts facts_of_this_host() {
  host_facts facts{settings::host().empty() ? os::host_name() : settings::host(), {}};
  std::vector<std::string> names = settings::transports();
  if (names.empty()) names.assign(transport::known_plugins().begin(), transport::known_plugins().end());
  std::string const devices = settings::network_devices();
  std::string const gpu = transport::gpu_of_rank(0);
  for (std::string const& each : names) {
    if (each == "sim") continue;  // only between hosts that are none
    std::string const library = settings::network_library(each);
    transport::network_config config;
    config.devices = devices.c_str();
    config.gpu = gpu.c_str();
    config.library = library.c_str();
    config.device_memory = settings::network_device_memory();
    transport::opened_network const opened = transport::open_plugin(each, config);
    bool const usable = opened.network != nullptr;
    facts.networks.push_back({each, usable, usable ? opened.network->description() : opened.why_not});
    if (usable) {
      facts.networks.back().device_memory =
          transport::device_memory_words(opened.network->abilities(), settings::network_device_memory());
    }
  }
  return facts;
}

}  // namespace

std::string words_on_networks() {
  std::string text = "transports  shm (ranks on one host)\n";
  for (network_fact const& each : facts_of_this_host().networks) {
    text += format("            %s%s%s\n", each.name.c_str(),
                   each.usable ? " (between hosts): " : " cannot be used: ", each.words.c_str());
    if (each.usable) text += format("              device memory: copied %s\n", each.device_memory.c_str());
  }
  text += words_on_devices(transport::cpus_of_this_process());
  return text +
         "            between hosts the first that all of them have is used; `atoll info --hosts a,b` asks them\n";
}

int ask_hosts(command_line const& which) {
  command_line line = which;
  line.words = {"atoll"};
  try {
    run_options options = checked_options(line);
    if (!options.cluster) throw startup_error("-N 1 is this host: leave it out");
    options.path = std::filesystem::read_symlink("/proc/self/exe").string();
    options.arguments = {"info", "--in-job"};
    options.input = input_mode::none;
    cluster_plan const plan = plan_cluster(options);
    std::fprintf(stderr, "atoll info: starting by %s\n", plan.by.words.c_str());
    return run_cluster(plan, options);
  } catch (startup_error const& error) {
    std::fprintf(stderr, "atoll info: %s\n", error.what());
    return exit_status::usage;
  }
}

int answer_as_host() {
  try {
    bootstrap::channel& job = bootstrap::attach();
    bootstrap::placement const& where = job.where();
    job.mark(rank_state::initialized);
    job.publish(where.local_rank == 0 ? to_card(facts_of_this_host()) : "");
    if (where.rank == 0) {
      std::vector<host_facts> hosts;
      for (std::int32_t const rank : where.first_ranks()) {
        auto facts = from_card(job.published_by(rank));
        if (!facts)
          throw startup_error(format("rank %d runs another version of Atoll", static_cast<int>(rank)));
        hosts.push_back(std::move(*facts));
      }
      std::fputs(table_of(hosts).c_str(), stdout);
      std::fflush(stdout);
    }
    // Nobody leaves before all have been asked.
    job.agree("", [](std::string const& a, std::string const&) { return a; });
    job.mark(rank_state::finalized);
    return 0;
  } catch (startup_error const& error) {
    std::fprintf(stderr, "atoll info: %s: %s\n", identity().c_str(), error.what());
    if (bootstrap::channel* const job = bootstrap::attached()) job->abort(1);
    return 1;
  }
}

}  // namespace atl::tools
