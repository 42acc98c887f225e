#pragma once

/// Teams: ordered sets of ranks, and what collectives on them need.

#include <cstdint>
#include <deque>
#include <unordered_map>
#include <vector>

#include <atoll/engine/team.hpp>
#include <atoll/transport/message.hpp>

namespace atl::engine {

struct collective;

/// A team in this process. Created collectively; the id is equal on all members.
struct team_data : team_view {
  std::vector<std::int32_t> members;       ///< world ranks; empty: consecutive from `first`
  int channel = -1;                        ///< flat channel, or -1
  std::uint64_t flat_sequence = 0;         ///< flat collectives started on the channel
  std::deque<collective*> flat_queue;      ///< front one is under way
  std::uint32_t next_number = 0;           ///< of the next collective by messages
  std::vector<collective*> open;           ///< collectives by messages that are under way
  std::vector<transport::message*> early;  ///< for collectives that have not begun here

  std::int32_t to_world(std::int32_t team_rank) const {
    return members.empty() ? first + team_rank : members[static_cast<std::size_t>(team_rank)];
  }
};

class team_registry {
 public:
  team_data* add(std::uint64_t id, std::int32_t first, std::int32_t rank_n, std::int32_t rank_me,
                 int channel);
  team_data* find(std::uint64_t id);
  ~team_registry();

  std::vector<transport::message*> orphans;  ///< messages for teams that do not exist here yet

 private:
  std::unordered_map<std::uint64_t, team_data*> teams_;
};

}  // namespace atl::engine
