#include "run/binding.hpp"

#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <cstddef>
#include <string>

#include "base/error.hpp"
#include "base/os/cores.hpp"
#include "topology/topology.hpp"

namespace atl::tools {
namespace {

/// A claim is an abstract socket named after the core: it exists once per host (network namespace), and goes
/// with the launcher however that ends. Empty when another job has it.
os::unique_fd claim(int core) {
  os::unique_fd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::string const name = format("atoll-core-%d", core);
  name.copy(address.sun_path + 1, sizeof address.sun_path - 1);
  auto const bytes = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  if (::bind(fd.get(), reinterpret_cast<sockaddr*>(&address), bytes) != 0) return {};
  return fd;
}

core_plan share_groups(run_options const& options, std::vector<int> const& cores) {
  bool const by_socket = options.binding == binding_mode::socket;
  topology const machine = read_topology(cores);
  if (!machine.known) {
    throw startup_error(
        format("--bind %s: the machine's parts are not known: %s; --bind core needs none of it",
               by_socket ? "socket" : "numa", machine.source.c_str()));
  }
  core_plan plan;
  for (int rank = 0; rank < options.ranks; ++rank) {
    auto const& groups = by_socket ? machine.sockets : machine.numa_nodes;
    plan.cores_of_rank.push_back(group_of_rank(groups, rank, options.ranks).cpus);
  }
  plan.reason = by_socket ? "each bound to a socket" : "each bound to a NUMA node";
  return plan;
}

}  // namespace

core_plan plan_cores(run_options const& options) {
  core_plan plan;
  plan.cores_of_rank.resize(static_cast<std::size_t>(options.ranks));
  if (options.binding == binding_mode::none) {
    plan.reason = "not bound: --bind none";
    return plan;
  }
  std::vector<int> cores = os::affinity_cores();
  if (options.binding == binding_mode::socket || options.binding == binding_mode::numa) {
    return share_groups(options, cores);
  }
  auto const usable = static_cast<std::size_t>(os::usable_cores());
  auto const ranks = static_cast<std::size_t>(options.ranks);
  if (options.binding == binding_mode::automatic && (ranks != usable || usable != cores.size())) {
    plan.reason = ranks == usable ? "not bound: the control group allows fewer cores than it shows"
                                  : "not bound: not one rank for each core";
    return plan;
  }
  // Only where it was asked for: reading the machine takes some milliseconds of every start.
  if (options.binding == binding_mode::core) {
    if (topology const machine = read_topology(cores); machine.known) cores = cores_first(machine);
  }
  std::vector<int> mine;
  std::vector<int> taken;
  for (int const core : cores) {
    if (mine.size() == ranks) break;
    if (os::unique_fd held = claim(core)) {
      mine.push_back(core);
      plan.claims.push_back(std::move(held));
    } else {
      taken.push_back(core);
    }
  }
  if (options.binding == binding_mode::automatic && !taken.empty()) {
    plan.claims.clear();
    plan.reason = "not bound: another job is bound to some of the cores";
    return plan;
  }
  // Asked for explicitly: free cores first, then share.
  mine.insert(mine.end(), taken.begin(), taken.end());
  for (std::size_t rank = 0; rank < ranks; ++rank) plan.cores_of_rank[rank] = {mine[rank % mine.size()]};
  plan.reason = "each bound to a core";
  return plan;
}

}  // namespace atl::tools
