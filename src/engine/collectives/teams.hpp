#pragma once

/// Teams: ordered sets of ranks, and what collectives on them need.

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <unordered_map>
#include <vector>

#include <atoll/engine/team.hpp>
#include <atoll/transport/message.hpp>

#include "base/single.hpp"
#include "engine/collectives/hierarchy.hpp"
#include "engine/collectives/staging.hpp"
#include "engine/host/host_domain.hpp"

namespace atl::engine {

struct collective;
struct flat_meeting;

/// The members of a team, where they are not evenly spaced.
struct member_table {
  std::vector<std::int32_t> world_ranks;  ///< by team rank
  std::vector<std::int32_t> by_world;     ///< team ranks, sorted by world rank; empty: `world_ranks` ascend
};

struct team_data;

/// The members of a team that are on this host, as teams of their own that no program sees. Each has a channel:
/// values come together in one while results go out in the other.
struct inside_teams {
  team_data* up = nullptr;
  team_data* down = nullptr;
};

/// A team in this process. Created collectively; the id is equal on all members.
struct team_data : team_view {
  static constexpr std::uint32_t history_size = 16;  // a power of two

  explicit team_data(host_domain const& ranks_of_host) : host(ranks_of_host), staging(ranks_of_host) {}

  host_domain const& host;
  std::unique_ptr<member_table> table;                ///< if stride == 0
  int channel = -1;                                   ///< flat channel, or -1
  std::uint64_t flat_step = 0;                        ///< of the channel: what is published now
  std::uint64_t all_left = 0;                         ///< all members are known to have left this step
  std::array<std::uint64_t, flat_lines> line_used{};  ///< step that stands in each of this rank's lines
  std::int32_t laggard = 0;                           ///< member that was found behind last
  std::deque<collective*> flat_queue;                 ///< front one is under way, unless there is a `meeting`
  flat_meeting* meeting = nullptr;                    ///< barrier that has the channel and is in no queue
  staging_blocks staging;                             ///< for arrays that go over the channel
  std::uint32_t next_number = 0;                      ///< of the next collective
  std::uint64_t history = 0;                          ///< hash of all that was called
  std::deque<collective*> open;                       ///< collectives by messages under way, by number
  std::unordered_map<std::uint32_t, std::vector<transport::message*>>
      early;                                         ///< for those that have not begun here
  std::size_t unheard = 0;                           ///< bytes that went ahead in what has ended here
  std::uint32_t kept_back = 0;                       ///< grants for such bytes that have not left this rank
  std::array<std::uint64_t, history_size> called{};  ///< signatures of the last collectives, by number
  std::unique_ptr<team_hosts> hosts;                 ///< null: all members are on this host
  inside_teams inside;  ///< null: no other member here, or there were no channels

  std::int32_t to_world(std::int32_t team_rank) const {
    return stride != 0 ? first + team_rank * stride : table->world_ranks[static_cast<std::size_t>(team_rank)];
  }
  std::int32_t from_world(std::int32_t world_rank, std::int32_t otherwise) const;
  /// Takes the members, in order of their team ranks, and looks where they are.
  void set_members(std::vector<std::int32_t> world_ranks, std::int32_t me);
};

/// The teams of this process.
class team_registry : public single<team_registry> {
 public:
  explicit team_registry(host_domain const& host) : single(this), host_(host) {}

  team_data* add(std::uint64_t id, std::int32_t first, std::int32_t rank_n, std::int32_t rank_me,
                 int channel);
  team_data* add(std::uint64_t id, std::vector<std::int32_t> world_ranks, std::int32_t rank_me, int channel);
  void add(std::unique_ptr<team_data> team);
  /// Gives a team what it needs of the channels that are free on all members; `step`: none of them has come to a
  /// higher one.
  void give_channels(team_data& team, std::uint32_t free_on_all, std::uint64_t step);
  /// Ends the team's life. Its channel, if it has one, is free again.
  void remove(team_data& team) noexcept;
  team_data* find(std::uint64_t id);

  template <class Function>
  void for_each(Function&& function) {
    for (auto& [id, team] : teams_) function(*team);
  }

  team_data* world = nullptr;                               ///< all ranks of the job
  team_data* local = nullptr;                               ///< those of this host
  std::uint32_t free_channels = (1U << flat_channels) - 1;  ///< bit i: channel i
  std::uint64_t highest_flat = 0;                           ///< no free channel has come to a higher step
  static inline std::uint32_t led = 0;  ///< teams created with this process as their rank 0, in all periods

 private:
  team_data* add_inside(team_data const& whole, std::uint64_t id, int channel, std::uint64_t step);

  host_domain const& host_;
  std::unordered_map<std::uint64_t, std::unique_ptr<team_data>> teams_;
};

/// The teams of a period's begin: all ranks of the job, and those of this host. `flat`: they get channels.
void add_first_teams(team_registry& teams, bootstrap::placement const& place,
                     bootstrap::host_ranks const& of_host, bool flat);

}  // namespace atl::engine
