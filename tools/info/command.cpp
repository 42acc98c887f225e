// `atoll info`: what the library finds here, and where each setting comes from.

#include <CLI/CLI.hpp>
#include <cstdio>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/os/cores.hpp"
#include "base/os/memory.hpp"
#include "base/os/standard_streams.hpp"
#include "base/settings.hpp"
#include "bootstrap/bootstrap.hpp"
#include "command.hpp"
#include "info/networks.hpp"
#include "memory/kind.hpp"
#include "topology/topology.hpp"
#include "upcxx/detail/config.hpp"

namespace atl::tools {
namespace {

void print_processor() {
  int const usable = os::usable_cores();
  auto const allowed = os::affinity_cores().size();
  double const quota = os::cgroup_core_quota();
  std::printf("cores       %d usable (%zu in the affinity mask, ", usable, allowed);
  if (quota > 0) {
    std::printf("%.2f by the control group's quota)\n", quota);
  } else {
    std::printf("no quota of the control group)\n");
  }
}

void print_machine() {
  topology const machine = read_topology(os::affinity_cores());
  if (!machine.known) {
    std::printf("machine     sockets and NUMA nodes are not known: %s\n", machine.source.c_str());
    return;
  }
  auto const count = [](std::vector<cpu_group> const& groups, char const* one) {
    return format("%zu %s%s", groups.size(), one, groups.size() == 1 ? "" : "s");
  };
  std::printf("machine     %s, %s, %s (%s)\n", count(machine.sockets, "socket").c_str(),
              count(machine.numa_nodes, "NUMA node").c_str(), count(machine.cores, "core").c_str(),
              machine.source.c_str());
  std::printf("%s", picture_of(machine, "            ").c_str());
}

void print_memory() {
  os::memory_limits const limits = os::read_memory_limits();
  std::printf("memory      %s available; host %s, of which %s free",
              settings::format_bytes(limits.available()).c_str(),
              settings::format_bytes(limits.host_total).c_str(),
              settings::format_bytes(limits.host_available).c_str());
  if (limits.group_limit) {
    std::printf("; control group %s, of which %s used", settings::format_bytes(*limits.group_limit).c_str(),
                settings::format_bytes(limits.group_used).c_str());
  }
  std::printf("\n");
}

void print_networks() {
  try {
    std::fputs(words_on_networks().c_str(), stdout);
  } catch (startup_error const& problem) {
    std::printf("transports  ! %s\n", problem.what());
  }
}

void print_bootstraps() {
  std::printf("bootstraps  (* would be used by a program started like this one)\n");
  try {
    for (auto const& item : bootstrap::candidates())
      std::printf("  %c %-8s  %s\n", item.chosen ? '*' : ' ', item.name.c_str(), item.reason.c_str());
  } catch (startup_error const& problem) {
    std::printf("            ! %s\n", problem.what());
  }
}

/// The kinds of memory, and what devices there are.
void print_kinds() {
  std::printf("kinds       host\n");
  try {
    auto const kinds = memory::make_kinds();
    for (auto const& kind : kinds) {
      std::string const devices = kind->info();
      for (std::size_t at = 0; at < devices.size();) {
        std::size_t const end = devices.find('\n', at);
        std::printf("            %s\n", devices.substr(at, end - at).c_str());
        at = end + 1;
      }
    }
    if (kinds.empty()) {
      std::printf("            cuda, hip, ze: no device (ATOLL_SIM_DEVICES simulates some)\n");
      for (auto const id : {memory::kind_id::cuda, memory::kind_id::hip, memory::kind_id::ze}) {
        std::string const why = memory::why_absent(id);
        if (!why.empty()) std::printf("            %s: %s\n", memory::to_string(id), why.c_str());
      }
    }
  } catch (startup_error const& problem) {
    std::printf("            ! %s\n", problem.what());
  }
}

void print_settings() {
  std::printf("settings\n");
  for (auto const& item : settings::all()) {
    auto const now = settings::look_up(item);
    std::printf("  %-24s %-10s %-12s %s\n", item.name, now.value.empty() ? "-" : now.value.c_str(),
                now.origin.c_str(), item.help);
    if (!now.problem.empty()) std::printf("    ! %s\n", now.problem.c_str());
  }
  for (auto const& each : settings::all_misspelt()) {
    std::printf("    ! %s is set, but is no setting: is %s meant?\n", each.name.c_str(), each.meant);
  }
}

}  // namespace

int info_command(int argc, char** argv) {
  os::open_standard_streams();
  CLI::App app(
      "Prints what the library finds here: launchers, cores, memory, transports, memory kinds, settings. With hosts: what networks they have, and what a "
      "job would use between them.",
      "atoll info");
  command_line line;
  bool in_job = false;
  app.add_option("--hosts", line.hosts, "asks these hosts, over the launcher that `atoll run` would use")
      ->type_name("a,b");
  app.add_option("--hostfile", line.hostfile, "the same from a file: a host a line")->type_name("FILE");
  app.add_option("-N,--nodes", line.nodes, "so many of those hosts, or of an allocation of Slurm")
      ->type_name("N");
  app.add_option("--launcher", line.launcher,
                 "srun, mpirun, prterun or hydra; without it, the first that is installed")
      ->type_name("NAME");
  app.add_flag("--in-job", in_job, "as one of those hosts")->group("");
  try {
    app.parse(argc, argv);
  } catch (CLI::CallForHelp const&) {
    std::fputs(app.help().c_str(), stdout);
    return 0;
  } catch (CLI::ParseError const& error) {
    std::fprintf(stderr, "atoll info: %s\n", error.what());
    return 2;
  }
  if (in_job) return answer_as_host();
  if (!line.hosts.empty() || !line.hostfile.empty() || !line.nodes.empty()) return ask_hosts(line);
  std::printf("atoll       %d.%d.%d (UPC++ v1.0 specification, revision %ld)\n", ATOLL_VERSION_MAJOR,
              ATOLL_VERSION_MINOR, ATOLL_VERSION_PATCH, UPCXX_SPEC_VERSION);
  print_processor();
  print_machine();
  print_memory();
  print_networks();
  print_kinds();
  print_bootstraps();
  print_settings();
  return 0;
}

}  // namespace atl::tools
