#pragma once

/// On which hosts the members of a team are. Messages between hosts cost more than those inside one, so
/// collectives by messages go inside the hosts first, among one member of each host then, and inside again.

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace atl::engine {

struct team_data;

/// The host of a rank of the job: a number from 0 on.
std::int32_t host_of(std::int32_t world_rank);

/// For tests of one host: ranks are where this says, until it is called with null. Before the job begins.
void pretend_hosts(std::int32_t (*host_of_rank)(std::int32_t world_rank), std::int32_t hosts) noexcept;

/// A team's members by hosts, as one of them sees it. Grows with the hosts of the team and the members on this
/// one. Hosts are numbered within the team, in the order of their first members.
struct team_hosts {
  std::vector<std::int32_t> leaders;  ///< the lowest member on each host
  std::vector<std::int32_t> here;     ///< the members on this host, ascending
  std::int32_t my_host = 0;
  std::int32_t my_place = 0;                                   ///< in `here`
  std::vector<std::pair<std::int32_t, std::int32_t>> by_host;  ///< host of the job, host of the team; sorted

  /// Host, within the team, of a member.
  [[nodiscard]] std::int32_t host_of_member(team_data const& team, std::int32_t team_rank) const;
  /// Who stands for this host, where `root` is the root: a place in `here`.
  [[nodiscard]] std::int32_t head_place(team_data const& team, std::int32_t root) const;
};

/// Where the members of a new team are: null if all are on one host. Takes time in proportion to the team.
std::unique_ptr<team_hosts> find_hosts(team_data const& team);

}  // namespace atl::engine
