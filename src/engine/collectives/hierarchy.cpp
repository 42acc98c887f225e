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
  if (by_host.empty()) return numbers.place_of(host);
  return std::lower_bound(by_host.begin(), by_host.end(), std::pair(host, std::int32_t{0}))->second;
}

std::int32_t team_hosts::head_place(team_data const& team, std::int32_t root) const {
  if (host_of_member(team, root) != my_host) return 0;
  return static_cast<std::int32_t>(std::lower_bound(here.begin(), here.end(), root) - here.begin());
}

team_parts::team_parts(team_data const& team)
    : team_(team),
      count_(team.hosts == nullptr ? team.rank_n : static_cast<std::int32_t>(team.hosts->leaders.size())),
      mine_(team.hosts == nullptr ? team.rank_me : team.hosts->my_host) {}

std::int32_t team_parts::size_of(std::int32_t part) const {
  return team_.hosts == nullptr ? 1 : team_.hosts->sizes[static_cast<std::size_t>(part)];
}

std::int32_t team_parts::leader_of(std::int32_t part) const {
  return team_.hosts == nullptr ? part : team_.hosts->leaders[static_cast<std::size_t>(part)];
}

std::int32_t team_parts::part_of(std::int32_t team_rank) const {
  return team_.hosts == nullptr ? team_rank : team_.hosts->host_of_member(team_, team_rank);
}

block_order team_parts::order_from(std::int32_t first, std::int32_t first_rank) const {
  block_order order;
  if (first_rank >= 0) order.add(first_rank);
  auto const add = [&](std::int32_t begin, std::int32_t end) {
    if (begin < end) order.add(begin, end - begin);
  };
  if (team_.hosts == nullptr || team_.hosts->consecutive) {
    for (std::int32_t i = 0; i < count_; ++i) {
      std::int32_t const part = (first + i) % count_;
      std::int32_t const begin = leader_of(part);
      std::int32_t const end = begin + size_of(part);
      bool const split = begin <= first_rank && first_rank < end;
      add(begin, split ? first_rank : end);
      if (split) add(first_rank + 1, end);
    }
    return order;
  }
  std::vector<std::vector<std::int32_t>> members(static_cast<std::size_t>(count_));
  for (std::int32_t r = 0; r < team_.rank_n; ++r) members[static_cast<std::size_t>(part_of(r))].push_back(r);
  for (std::int32_t i = 0; i < count_; ++i) {
    for (std::int32_t const r : members[static_cast<std::size_t>((first + i) % count_)]) {
      if (r != first_rank) order.add(r);
    }
  }
  return order;
}

std::unique_ptr<team_hosts> find_hosts(team_data const& team) {
  if (hosts_of_job() == 1) return nullptr;
  auto found = std::make_unique<team_hosts>();
  std::vector<std::int32_t> index_of(static_cast<std::size_t>(hosts_of_job()), -1);
  std::vector<std::int32_t> sizes;
  std::int32_t const mine = host_of(team.to_world(team.rank_me));
  std::int32_t last = -1;
  for (std::int32_t r = 0; r < team.rank_n; ++r) {
    std::int32_t const host = host_of(team.to_world(r));
    if (host == mine) {
      if (r == team.rank_me) found->my_place = static_cast<std::int32_t>(found->here.size());
      found->here.push_back(r);
    }
    std::int32_t& index = index_of[static_cast<std::size_t>(host)];
    if (index < 0) {
      index = static_cast<std::int32_t>(found->leaders.size());
      if (host == mine) found->my_host = index;
      found->leaders.push_back(r);
      found->numbers.push_back(host);
      sizes.push_back(0);
    } else if (host != last) {
      found->consecutive = false;
    }
    ++sizes[static_cast<std::size_t>(index)];
    last = host;
  }
  if (found->leaders.size() == 1) return nullptr;
  for (std::int32_t const size : sizes) found->sizes.push_back(size);
  if (found->numbers.ascends_evenly()) return found;
  for (std::size_t i = 0; i < found->numbers.size(); ++i)
    found->by_host.emplace_back(found->numbers[i], static_cast<std::int32_t>(i));
  std::sort(found->by_host.begin(), found->by_host.end());
  found->numbers = {};
  return found;
}

}  // namespace atl::engine
