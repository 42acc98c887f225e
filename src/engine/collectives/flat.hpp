#pragma once

/// Collectives over a channel: lines of shared memory, one set for each member, that everybody reads.
///
/// A channel's steps are numbered equally on all members. In each, some members publish a line (48 bytes, and
/// what was called) and some read others' lines; arrays stand in blocks of transit memory that the lines
/// point to. No tree latency and no contended counter; good also when ranks outnumber cores, since nobody
/// depends on anybody being scheduled in between.
///
/// When may a rank write a line or block again? When all have left the step in which it was used. Who sees
/// everybody's lines of a step knows that all have left the one before: barriers and reductions to all need
/// nothing else. Where members do not wait for each other (broadcast, reduce_one), each notes in a word of
/// its own which step it has left; writers look there when they have gone round their lines or blocks, and
/// wait if need be. So a root can be some steps ahead of the others, and no further.

#include <cstddef>
#include <cstdint>

#include "engine/collectives/collective.hpp"

namespace atl::engine {

/// May this rank publish the next step?
bool flat_room(team_data& team);
/// Learns who has left which step.
bool flat_all_left(team_data& team, std::uint64_t step);
/// Next step, with a line of this rank; there must be room. `reader`: the only one, or -1.
void flat_publish(team_data& team, noted_call const& call, void const* payload, std::size_t bytes,
                  std::int32_t reader = -1);
/// True once the lines of all other members are there; `seen` remembers how far it looked.
bool flat_complete(team_data& team, noted_call const& call, std::int32_t& seen);

/// A barrier that its caller waits in without a collective in the queue. What callbacks start meanwhile waits there
/// for its end.
struct flat_meeting {
  noted_call call;
  std::int32_t seen = 0;
  bool followed = false;  ///< others poll for its end, too, under the lock
  bool over = false;
};
/// Has everybody come to the meeting of this team? Ends it then.
bool flat_met(team_data& team);

/// Block of staging memory for the next step; staging_blocks::none or later if there is none, or not yet.
std::uint64_t flat_block(team_data& team, std::size_t bytes);
/// Copies into such a block. All others read it, so what is best for one of them is done, on a core that may be far away.
void flat_copy(team_data const& team, std::byte* to, std::byte const* from, std::size_t bytes) noexcept;

/// By lines and blocks inside a host; what only this rank is in needs neither.
inline bool goes_flat(team_view& team) {
  return static_cast<team_data&>(team).channel >= 0 && team.rank_n > 1;
}

class flat_collective : public collective {
 protected:
  /// Next step, with a line of this rank. False: no room yet.
  bool publish(void const* payload, std::size_t bytes, std::int32_t reader = -1) {
    if (!flat_room(*team)) return false;
    flat_publish(*team, call, payload, bytes, reader);
    seen_ = 0;
    return true;
  }
  /// Next step, without one.
  void skip() {
    ++team->flat_step;
    seen_ = 0;
  }
  /// All other members' lines of this step are there.
  bool all_there() { return flat_complete(*team, call, seen_); }
  /// One member's line of this step is there.
  bool is_there(std::int32_t rank);
  /// This rank wants nothing more of this step, nor of those before it.
  void leave();

  std::byte const* payload_of(std::int32_t rank) const;
  std::byte const* block_at(std::int32_t rank, std::uint64_t offset) const;
  std::byte* own_block_at(std::uint64_t offset) const { return team->host.at(team->host.me(), offset); }

 private:
  std::int32_t seen_ = 0;
};

}  // namespace atl::engine
