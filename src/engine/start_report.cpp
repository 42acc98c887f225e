#include "engine/start_report.hpp"

#include <unistd.h>

#include <cstdio>
#include <string>

#include "base/error.hpp"
#include "base/os/cores.hpp"
#include "base/os/host_name.hpp"
#include "base/settings.hpp"
#include "transport/device_memory.hpp"

namespace atl::engine {
namespace {

/// "0-3,8"
std::string ranges_of(std::vector<int> const& numbers) {
  std::string text;
  for (std::size_t i = 0; i < numbers.size();) {
    std::size_t last = i;
    while (last + 1 < numbers.size() && numbers[last + 1] == numbers[last] + 1) ++last;
    text += format(last == i ? "%s%d" : "%s%d-%d", text.empty() ? "" : ",", numbers[i], numbers[last]);
    i = last + 1;
  }
  return text;
}

/// "0-3", and "0-0" for one rank alone; "0,2,4"
std::string list_of(bootstrap::host_ranks const& ranks) {
  if (ranks.count() == 1) return format("%d-%d", ranks.world_rank(0), ranks.world_rank(0));
  std::vector<int> all(ranks.count());
  for (std::uint32_t r = 0; r < ranks.count(); ++r) all[r] = ranks.world_rank(r);
  return ranges_of(all);
}

}  // namespace

void report_start(bootstrap::channel& channel, start_facts const& facts, int level) {
  bootstrap::placement const& place = channel.where();
  // Unconditional: ranks whose environments differ must not wait for each other.
  std::string const me =
      format("pid %d, cores %s", static_cast<int>(::getpid()), ranges_of(os::affinity_cores()).c_str());
  std::vector<std::string> const all = channel.exchange(me.substr(0, 1000));
  if (level <= 0 || place.local_rank != 0) return;
  std::string const host = os::host_name();
  std::string text;
  if (place.rank == 0) {
    bool const simulated = place.hosts != channel.machine().hosts;
    text += format("atoll: %d rank%s on %d %shost%s, started by %s\n", place.size, place.size == 1 ? "" : "s",
                   place.hosts, simulated ? "simulated " : "", place.hosts == 1 ? "" : "s",
                   std::string(channel.name()).c_str());
    text += format("atoll: shared heap: %s for each rank, %s in all\n",
                   settings::format_bytes(facts.heap_bytes).c_str(),
                   settings::format_bytes(facts.heap_bytes * static_cast<std::size_t>(place.size)).c_str());
    if (place.size > 1)
      text += format("atoll: large messages: %s\n",
                     facts.reads_peers
                         ? "fetched from their senders' memory"
                         : "copied in pieces (ranks may not read each other's memory, or are told not "
                           "to by ATOLL_READ_PEERS)");
    if (facts.network != nullptr) {
      text += format("atoll: network between hosts: %s (%s)\n", std::string(facts.network->name()).c_str(),
                     facts.network->description().c_str());
      text +=
          format("atoll: device memory between hosts: copied %s\n",
                 transport::device_memory_words(facts.network->abilities(), settings::network_device_memory())
                     .c_str());
    }
  }
  bootstrap::host_ranks const ranks = place.ranks_of_host();
  text += format("atoll: local team %d of %d: ranks %s on %s; %d usable core%s, %s%s\n", place.host,
                 place.hosts, list_of(ranks).c_str(), host.c_str(), facts.cores, facts.cores == 1 ? "" : "s",
                 facts.oversubscribed ? "oversubscribed: waiting gives way" : "waiting spins",
                 facts.by_user ? " (UPCXX_OVERSUBSCRIBED)" : "");
  for (std::size_t i = 0; level > 1 && i < all.size(); ++i) {
    text += format("atoll: rank %d: %s\n", ranks.world_rank(static_cast<std::uint32_t>(i)), all[i].c_str());
  }
  std::fputs(text.c_str(), stderr);
}

}  // namespace atl::engine
