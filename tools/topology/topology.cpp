#include "topology/topology.hpp"

#include <algorithm>
#include <map>

#include "base/error.hpp"

namespace atl::tools {
namespace {

/// "ranks 0-3 on 0-7; ranks 4-7 on 8-15", and no more than fits a line or two.
std::string bindings(std::vector<cpu_group> const& groups, int ranks) {
  constexpr std::size_t most = 6;
  std::map<std::vector<int>, std::vector<int>> ranks_on;
  std::vector<std::vector<int>> order;
  for (int rank = 0; rank < ranks; ++rank) {
    std::vector<int> const& cpus = group_of_rank(groups, rank, ranks).cpus;
    if (ranks_on[cpus].empty()) order.push_back(cpus);
    ranks_on[cpus].push_back(rank);
  }
  std::string text;
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (i + 1 != order.size() && i + 1 >= most) {
      if (i + 1 == most) text += "; ...";
      continue;
    }
    std::vector<int> const& here = ranks_on[order[i]];
    text += format("%srank%s %s on %s", i == 0 ? "" : "; ", here.size() == 1 ? "" : "s",
                   list_of(here).c_str(), list_of(order[i]).c_str());
  }
  return text;
}

bool overlap(cpu_group const& a, cpu_group const& b) {
  return std::any_of(a.cpus.begin(), a.cpus.end(),
                     [&](int cpu) { return std::find(b.cpus.begin(), b.cpus.end(), cpu) != b.cpus.end(); });
}

std::vector<cpu_group> singles(std::vector<int> const& cpus) {
  std::vector<cpu_group> groups;
  for (int const cpu : cpus) groups.push_back({"", {cpu}});
  return groups;
}

}  // namespace

std::vector<int> cores_first(topology const& machine) {
  std::vector<int> order;
  for (std::size_t nth = 0;; ++nth) {
    std::size_t const before = order.size();
    for (cpu_group const& core : machine.cores) {
      if (nth < core.cpus.size()) order.push_back(core.cpus[nth]);
    }
    if (order.size() == before) return order;
  }
}

cpu_group const& group_of_rank(std::vector<cpu_group> const& groups, int rank, int ranks) {
  return groups[static_cast<std::size_t>(rank) * groups.size() / static_cast<std::size_t>(ranks)];
}

std::string list_of(std::vector<int> const& numbers) {
  std::string text;
  for (std::size_t i = 0; i < numbers.size();) {
    std::size_t last = i;
    while (last + 1 < numbers.size() && numbers[last + 1] == numbers[last] + 1) ++last;
    text += format("%s%d", text.empty() ? "" : ",", numbers[i]);
    if (last != i) text += format("-%d", numbers[last]);
    i = last + 1;
  }
  return text;
}

std::string picture_of(topology const& machine, std::string const& indent) {
  constexpr int cores_a_line = 8;
  std::string text;
  for (cpu_group const& socket : machine.sockets) {
    for (cpu_group const& node : machine.numa_nodes) {
      if (!overlap(socket, node)) continue;
      std::string const head =
          format("%s%-10s  %-7s ", indent.c_str(), socket.name.c_str(), node.name.c_str());
      int in_line = 0;
      for (cpu_group const& core : machine.cores) {
        if (!overlap(core, socket) || !overlap(core, node)) continue;
        if (in_line % cores_a_line == 0) text += in_line == 0 ? head : '\n' + std::string(head.size(), ' ');
        ++in_line;
        std::string inside;
        for (int const cpu : core.cpus) {
          if (!inside.empty()) inside += ' ';
          inside += std::to_string(cpu);
        }
        text += " [" + inside + "]";
      }
      if (in_line != 0) text += "\n";
    }
  }
  auto const ranks = static_cast<int>(machine.cores.size());
  std::vector<int> cpus = cores_first(machine);
  cpus.resize(static_cast<std::size_t>(ranks));
  text +=
      format("%s-n %d --bind core    %s\n", indent.c_str(), ranks, bindings(singles(cpus), ranks).c_str());
  text +=
      format("%s-n %d --bind socket  %s\n", indent.c_str(), ranks, bindings(machine.sockets, ranks).c_str());
  text += format("%s-n %d --bind numa    %s\n", indent.c_str(), ranks,
                 bindings(machine.numa_nodes, ranks).c_str());
  return text;
}

}  // namespace atl::tools
