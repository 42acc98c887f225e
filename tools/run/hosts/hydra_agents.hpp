#pragma once

/// Does Hydra wait for a host that it cannot reach? It starts an agent (ssh) for each, counts the processes that call back from there, and waits for
/// the others for ever, also for those whose agents have ended.

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace atl::tools {

/// A process that Hydra has started.
struct hydra_agent {
  int number = 0;
  unsigned long long started = 0;  ///< by the system's clock; those of one tick ascend by number
  bool ended = false;
  int how = 0;  ///< if so, as waitpid() tells
};

enum class hydra_start { goes_on, complete, failed };

/// `hosts`: for as many Hydra starts agents. `connected`: who has called back.
hydra_start judge_start(std::vector<hydra_agent> const& agents, std::size_t hosts, std::size_t connected);

class hydra_agents {
 public:
  explicit hydra_agents(std::vector<std::string> hosts) : hosts_(std::move(hosts)) {}
  /// Twice a second, as long as it is wanted. In words, what has failed.
  std::optional<std::string> look(int hydra);
  [[nodiscard]] bool wanted() const { return wanted_; }
  /// In words, hosts of which all ranks have ended; empty if there are none, or if all hosts are such ones, or that cannot be known.
  [[nodiscard]] std::string ended_hosts(int hydra) const;

 private:
  /// Of those that are so, if there is an agent for each host.
  template <class Which>
  [[nodiscard]] std::string names_of(std::vector<hydra_agent> const& agents, Which const& which) const;
  [[nodiscard]] std::string words_of(std::vector<hydra_agent> const& agents) const;

  std::vector<std::string> hosts_;
  bool wanted_ = true;
  int failures_ = 0;  ///< looks in turn that found one
};

}  // namespace atl::tools
