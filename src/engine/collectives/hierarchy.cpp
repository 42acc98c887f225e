#include "engine/collectives/hierarchy.hpp"

#include <algorithm>

#include <atoll/engine/job.hpp>

#include "bootstrap/bootstrap.hpp"
#include "engine/collectives/teams.hpp"

namespace atl::engine {

namespace {

using host_function = std::int32_t (*)(std::int32_t world_rank);
constinit host_function pretended = nullptr;
constinit std::int32_t pretended_hosts = 0;

std::int32_t hosts_of_job() { return pretended != nullptr ? pretended_hosts : job.host_n; }

}  // namespace

std::int32_t host_of(std::int32_t world_rank) {
  return pretended != nullptr ? pretended(world_rank) : bootstrap::attach().where().host_of(world_rank);
}

void pretend_hosts(std::int32_t (*host_of_rank)(std::int32_t world_rank), std::int32_t hosts) noexcept {
  pretended = host_of_rank;
  pretended_hosts = hosts;
}

std::int32_t team_hosts::host_of_member(team_data const& team, std::int32_t team_rank) const {
  std::int32_t const host = host_of(team.to_world(team_rank));
  return std::lower_bound(by_host.begin(), by_host.end(), std::pair(host, std::int32_t{0}))->second;
}

std::int32_t team_hosts::head_place(team_data const& team, std::int32_t root) const {
  if (host_of_member(team, root) != my_host) return 0;
  return static_cast<std::int32_t>(std::lower_bound(here.begin(), here.end(), root) - here.begin());
}

std::unique_ptr<team_hosts> find_hosts(team_data const& team) {
  if (hosts_of_job() == 1) return nullptr;
  auto found = std::make_unique<team_hosts>();
  std::vector<bool> seen(static_cast<std::size_t>(hosts_of_job()));
  std::int32_t const mine = host_of(team.to_world(team.rank_me));
  for (std::int32_t r = 0; r < team.rank_n; ++r) {
    std::int32_t const host = host_of(team.to_world(r));
    if (host == mine) {
      if (r == team.rank_me) found->my_place = static_cast<std::int32_t>(found->here.size());
      found->here.push_back(r);
    }
    if (seen[static_cast<std::size_t>(host)]) continue;
    seen[static_cast<std::size_t>(host)] = true;
    auto const index = static_cast<std::int32_t>(found->leaders.size());
    if (host == mine) found->my_host = index;
    found->leaders.push_back(r);
    found->by_host.emplace_back(host, index);
  }
  if (found->leaders.size() == 1) return nullptr;
  std::sort(found->by_host.begin(), found->by_host.end());
  return found;
}

}  // namespace atl::engine
