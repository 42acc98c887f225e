#include "engine/collectives/teams.hpp"

#include <algorithm>
#include <bit>
#include <numeric>
#include <utility>

#include "base/collective_signature.hpp"
#include "engine/progress/guard.hpp"

namespace atl::engine {

std::int32_t team_data::from_world(std::int32_t world_rank, std::int32_t otherwise) const {
  if (stride != 0) {
    std::int64_t const distance = std::int64_t{world_rank} - first;
    if (distance % stride != 0) return otherwise;
    std::int64_t const rank = distance / stride;
    return rank >= 0 && rank < rank_n ? static_cast<std::int32_t>(rank) : otherwise;
  }
  auto const& ranks = table->world_ranks;
  auto const& order = table->by_world;
  if (order.empty()) {
    auto const found = std::lower_bound(ranks.begin(), ranks.end(), world_rank);
    if (found == ranks.end() || *found != world_rank) return otherwise;
    return static_cast<std::int32_t>(found - ranks.begin());
  }
  auto const rank_of = [&](std::int32_t team_rank) { return ranks[static_cast<std::size_t>(team_rank)]; };
  auto const found = std::lower_bound(
      order.begin(), order.end(), world_rank,
      [&](std::int32_t team_rank, std::int32_t sought) { return rank_of(team_rank) < sought; });
  return found == order.end() || rank_of(*found) != world_rank ? otherwise : *found;
}

namespace {

std::unique_ptr<member_table> make_table(std::vector<std::int32_t> world_ranks) {
  auto table = std::make_unique<member_table>();
  if (!std::is_sorted(world_ranks.begin(), world_ranks.end())) {
    table->by_world.resize(world_ranks.size());
    std::iota(table->by_world.begin(), table->by_world.end(), 0);
    std::sort(table->by_world.begin(), table->by_world.end(), [&](std::int32_t a, std::int32_t b) {
      return world_ranks[static_cast<std::size_t>(a)] < world_ranks[static_cast<std::size_t>(b)];
    });
  }
  table->world_ranks = std::move(world_ranks);
  return table;
}

}  // namespace

void team_data::set_members(std::vector<std::int32_t> world_ranks, std::int32_t me) {
  rank_n = static_cast<std::int32_t>(world_ranks.size());
  rank_me = me;
  first = world_ranks[0];
  stride = rank_n > 1 ? world_ranks[1] - world_ranks[0] : 1;
  for (std::size_t i = 1; i < world_ranks.size() && stride != 0; ++i) {
    if (world_ranks[i] - world_ranks[i - 1] != stride) stride = 0;
  }
  if (stride == 0) table = make_table(std::move(world_ranks));
  hosts = find_hosts(*this);
}

team_data* team_registry::add(std::uint64_t id, std::int32_t first, std::int32_t rank_n, std::int32_t rank_me,
                              int channel) {
  auto team = std::make_unique<team_data>(host_);
  team->id = id;
  team->first = first;
  team->rank_n = rank_n;
  team->rank_me = rank_me;
  team->channel = channel;
  team->hosts = find_hosts(*team);
  team_data* const result = team.get();
  add(std::move(team));
  return result;
}

team_data* team_registry::add(std::uint64_t id, std::vector<std::int32_t> world_ranks, std::int32_t rank_me,
                              int channel) {
  auto team = std::make_unique<team_data>(host_);
  team->id = id;
  team->set_members(std::move(world_ranks), rank_me);
  team->channel = channel;
  team_data* const result = team.get();
  add(std::move(team));
  return result;
}

void team_registry::add(std::unique_ptr<team_data> team) {
  team_data& added = *team;
  teams_[added.id] = std::move(team);
  if (added.channel >= 0) free_channels &= ~(1U << static_cast<unsigned>(added.channel));
}

void team_registry::give_channels(team_data& team, std::uint32_t free_on_all, std::uint64_t step) {
  team.flat_step = team.all_left = step;
  if (free_on_all == 0 || team.rank_n == 1) return;
  int const lowest = std::countr_zero(free_on_all);
  if (team.hosts == nullptr) {
    team.channel = lowest;
    free_channels &= ~(1U << static_cast<unsigned>(lowest));
    return;
  }
  std::uint32_t const others = free_on_all & (free_on_all - 1);
  if (others == 0 || team.hosts->here.size() == 1) return;
  team.inside.up = add_inside(team, team.id | team_inside_up, lowest, step);
  team.inside.down = add_inside(team, team.id | team_inside_down, std::countr_zero(others), step);
}

team_data* team_registry::add_inside(team_data const& whole, std::uint64_t id, int channel,
                                     std::uint64_t step) {
  std::vector<std::int32_t> members = whole.hosts->here;
  for (std::int32_t& m : members) m = whole.to_world(m);
  team_data* const inside = add(id, std::move(members), whole.hosts->my_place, channel);
  inside->flat_step = inside->all_left = step;
  return inside;
}

void team_registry::remove(team_data& team) noexcept {
  for (team_data* const inside : {team.inside.up, team.inside.down}) {
    if (inside != nullptr) remove(*inside);
  }
  if (team.channel >= 0) {
    free_channels |= 1U << static_cast<unsigned>(team.channel);
    highest_flat = std::max(highest_flat, team.flat_step);
  }
  teams_.erase(team.id);
}

team_data* team_registry::find(std::uint64_t id) {
  auto const found = teams_.find(id);
  return found == teams_.end() ? nullptr : found->second.get();
}

namespace {

constexpr std::uint64_t world_team_id = 1;
constexpr std::uint64_t local_team_id = 2;

std::vector<std::int32_t> world_ranks(bootstrap::host_ranks const& ranks) {
  std::vector<std::int32_t> all(ranks.count());
  for (std::uint32_t r = 0; r < ranks.count(); ++r) all[r] = ranks.world_rank(r);
  return all;
}

}  // namespace

void add_first_teams(team_registry& teams, bootstrap::placement const& place,
                     bootstrap::host_ranks const& of_host, bool flat) {
  // On one host both teams have the same members; each has a channel of its own for flat collectives.
  if (!flat) teams.free_channels = 0;
  teams.world = teams.add(world_team_id, 0, place.size, place.rank, flat && place.hosts == 1 ? 0 : -1);
  teams.local = teams.add(local_team_id + static_cast<std::uint64_t>(place.host), world_ranks(of_host),
                          place.local_rank, flat ? 1 : -1);
  teams.give_channels(*teams.world, flat && place.hosts > 1 ? 0b101U : 0, 0);
}

team_view& world_team() { return *team_registry::here().world; }
team_view& local_team() { return *team_registry::here().local; }

std::int32_t team_to_world(team_view const& team, std::int32_t team_rank) {
  return static_cast<team_data const&>(team).to_world(team_rank);
}

std::int32_t team_from_world(team_view const& team, std::int32_t world_rank, std::int32_t otherwise) {
  return static_cast<team_data const&>(team).from_world(world_rank, otherwise);
}

team_view* find_team(std::uint64_t id) {
  guard const held;
  return team_registry::here().find(id);
}

}  // namespace atl::engine
