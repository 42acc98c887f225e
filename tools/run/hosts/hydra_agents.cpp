#include "run/hosts/hydra_agents.hpp"

#include <netinet/tcp.h>
#include <sys/wait.h>

#include <algorithm>
#include <set>
#include <tuple>

#include "base/error.hpp"
#include "base/os/processes.hpp"
#include "base/os/tcp_table.hpp"

namespace atl::tools {
namespace {

/// Before a failure is believed. Agents fail as well where Hydra ends a job over a rank, which takes it a while on busy machines.
constexpr int looks_alike = 8;

std::vector<hydra_agent> agents_of(int hydra) {
  std::vector<hydra_agent> all;
  for (os::listed_process const& each : os::list_processes()) {
    if (each.parent == hydra) all.push_back({each.number, each.started, each.ended, each.status});
  }
  std::sort(all.begin(), all.end(), [](hydra_agent const& a, hydra_agent const& b) {
    return std::tie(a.started, a.number) < std::tie(b.started, b.number);
  });
  return all;
}

/// Connections that others have made with a process. Nothing if its descriptors are not in sight.
std::optional<std::size_t> callers_of(int process) {
  auto const open = os::sockets_of(process);
  if (!open) return std::nullopt;
  std::set<std::uint64_t> const sockets(open->begin(), open->end());
  std::vector<os::tcp_socket> const all = os::tcp_sockets();
  std::set<std::uint16_t> listening;
  for (os::tcp_socket const& each : all) {
    if (each.state == TCP_LISTEN && sockets.contains(each.inode)) listening.insert(each.local.port);
  }
  return static_cast<std::size_t>(std::count_if(all.begin(), all.end(), [&](os::tcp_socket const& each) {
    return each.state != TCP_LISTEN && sockets.contains(each.inode) && listening.contains(each.local.port);
  }));
}

bool has_failed(hydra_agent const& who) { return who.ended && who.how != 0; }

}  // namespace

hydra_start judge_start(std::vector<hydra_agent> const& agents, std::size_t hosts, std::size_t connected) {
  auto const count = [&](auto const& which) {
    return static_cast<std::size_t>(std::count_if(agents.begin(), agents.end(), which));
  };
  // Short programs have ended where others are still being started.
  std::size_t const done = count([](hydra_agent const& a) { return a.ended && a.how == 0; });
  if (connected + done >= hosts) return hydra_start::complete;
  std::size_t const alive = count([](hydra_agent const& a) { return !a.ended; });
  // An agent that ends later, as its connection breaks, leaves a process behind that has called.
  return count(&has_failed) > 0 && connected <= alive ? hydra_start::failed : hydra_start::goes_on;
}

std::optional<std::string> hydra_agents::look(int hydra) {
  std::vector<hydra_agent> const agents = agents_of(hydra);
  auto const connected = callers_of(hydra);
  if (!connected) {
    wanted_ = false;
    return std::nullopt;
  }
  hydra_start const state = judge_start(agents, hosts_.size(), *connected);
  failures_ = state == hydra_start::failed ? failures_ + 1 : 0;
  wanted_ = state != hydra_start::complete && failures_ < looks_alike;
  if (failures_ < looks_alike) return std::nullopt;
  return words_of(agents);
}

template <class Which>
std::string hydra_agents::names_of(std::vector<hydra_agent> const& agents, Which const& which) const {
  std::string names;
  for (std::size_t i = 0; agents.size() == hosts_.size() && i < agents.size(); ++i) {
    if (which(agents[i])) names += (names.empty() ? "" : ", ") + hosts_[i];
  }
  return names;
}

std::string hydra_agents::ended_hosts(int hydra) const {
  std::vector<hydra_agent> const agents = agents_of(hydra);
  bool const any_left =
      std::any_of(agents.begin(), agents.end(), [](hydra_agent const& a) { return !a.ended; });
  return any_left ? names_of(agents, [](hydra_agent const& a) { return a.ended; }) : "";
}

std::string hydra_agents::words_of(std::vector<hydra_agent> const& agents) const {
  int const how = std::find_if(agents.begin(), agents.end(), &has_failed)->how;
  std::string const end =
      WIFEXITED(how) ? format("with status %d", WEXITSTATUS(how)) : format("by signal %d", WTERMSIG(how));
  std::string const names = names_of(agents, &has_failed);
  return format(
      "Hydra's way to %s (ssh, unless it was told another) has ended %s before ranks were started there",
      names.empty() ? "a host" : names.c_str(), end.c_str());
}

}  // namespace atl::tools
