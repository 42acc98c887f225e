#include "engine/teams.hpp"

#include <algorithm>

#include "engine/world.hpp"

namespace atl::engine {

team_data* team_registry::add(std::uint64_t id, std::int32_t first, std::int32_t rank_n, std::int32_t rank_me,
                              int channel) {
  auto* const team = new team_data;
  team->id = id;
  team->first = first;
  team->rank_n = rank_n;
  team->rank_me = rank_me;
  team->channel = channel;
  teams_[id] = team;
  return team;
}

team_data* team_registry::find(std::uint64_t id) {
  auto const found = teams_.find(id);
  return found == teams_.end() ? nullptr : found->second;
}

team_registry::~team_registry() {
  for (auto& [id, team] : teams_) delete team;
}

team_view& world_team() { return *world->world_team; }
team_view& local_team() { return *world->local_team; }

std::int32_t team_to_world(team_view const& team, std::int32_t team_rank) {
  return static_cast<team_data const&>(team).to_world(team_rank);
}

std::int32_t team_from_world(team_view const& view, std::int32_t world_rank, std::int32_t otherwise) {
  auto const& team = static_cast<team_data const&>(view);
  if (team.members.empty()) {
    std::int32_t const r = world_rank - team.first;
    return r >= 0 && r < team.rank_n ? r : otherwise;
  }
  auto const found = std::find(team.members.begin(), team.members.end(), world_rank);
  return found == team.members.end() ? otherwise : static_cast<std::int32_t>(found - team.members.begin());
}

team_view* find_team(std::uint64_t id) { return world->teams.find(id); }

}  // namespace atl::engine
