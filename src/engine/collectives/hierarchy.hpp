#pragma once

/// On which hosts the members of a team are. Messages between hosts cost more than those inside one, so
/// collectives by messages go inside the hosts first, among one member of each host then, and inside again.

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "engine/collectives/block_row.hpp"
#include "engine/collectives/spaced_list.hpp"

namespace atl::engine {

struct team_data;

/// The host of a rank of the job: a number from 0 on.
std::int32_t host_of(std::int32_t world_rank);

/// For tests of one host: ranks are where this says, until it is called with null. Before the job begins.
void pretend_hosts(std::int32_t (*host_of_rank)(std::int32_t world_rank), std::int32_t hosts) noexcept;

/// A team's members by hosts, as one of them sees it. Grows with the members on this host, and with the hosts of the
/// team where these are not alike. Hosts are numbered within the team, in the order of their first members.
struct team_hosts {
  spaced_list leaders;  ///< the lowest member on each host
  spaced_list sizes;    ///< members on each host
  spaced_list numbers;  ///< of the hosts, in the job; if they ascend evenly, else there is `by_host`
  std::vector<std::int32_t> here;  ///< the members on this host, ascending
  bool consecutive = true;         ///< the members of each host are neighbours in the team
  std::int32_t my_host = 0;
  std::int32_t my_place = 0;                                   ///< in `here`
  std::vector<std::pair<std::int32_t, std::int32_t>> by_host;  ///< host of the job, host of the team; sorted

  /// Host, within the team, of a member.
  [[nodiscard]] std::int32_t host_of_member(team_data const& team, std::int32_t team_rank) const;
  /// Who stands for this host, where `root` is the root: a place in `here`.
  [[nodiscard]] std::int32_t head_place(team_data const& team, std::int32_t root) const;
};

/// What takes part in collectives between hosts: the hosts of a team, each by one member; of a team on one host, its
/// members.
class team_parts {
 public:
  explicit team_parts(team_data const& team);

  [[nodiscard]] std::int32_t count() const noexcept { return count_; }
  [[nodiscard]] std::int32_t mine() const noexcept { return mine_; }
  /// That many parts behind this one, after the last of which comes the first.
  [[nodiscard]] std::int32_t after_mine(std::int32_t distance) const noexcept {
    return (mine_ + distance) % count_;
  }
  [[nodiscard]] std::int32_t size_of(std::int32_t part) const;
  /// The lowest member: team rank.
  [[nodiscard]] std::int32_t leader_of(std::int32_t part) const;
  [[nodiscard]] std::int32_t part_of(std::int32_t team_rank) const;
  /// All members: those of part `first`, the ones of the next, and so on around. Those of a part ascend, but for
  /// `first_rank`, if there is one, which is the first of the first. Takes time and memory in proportion to the parts
  /// where their members are neighbours, else to the team.
  [[nodiscard]] block_order order_from(std::int32_t first, std::int32_t first_rank = -1) const;

 private:
  team_data const& team_;
  std::int32_t count_;
  std::int32_t mine_;
};

/// Where the members of a new team are: null if all are on one host. Takes time in proportion to the team.
std::unique_ptr<team_hosts> find_hosts(team_data const& team);

}  // namespace atl::engine
