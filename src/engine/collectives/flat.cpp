// Lines of the channels. See flat.hpp.

#include "engine/collectives/flat.hpp"

#include <algorithm>
#include <cstring>

#include "engine/collectives/matching.hpp"
#include "engine/progress/peer_order.hpp"
#include "engine/progress/progress_engine.hpp"

namespace atl::engine {

namespace {

/// Of a member of a team that has a channel.
std::uint32_t local_rank_of(team_data const& team, std::int32_t team_rank) {
  return team.host.local_rank(team.to_world(team_rank));
}

constexpr unsigned history_bits = 20;

flat_channel& channel_of(team_data const& team, std::int32_t team_rank) {
  return team.host.page(local_rank_of(team, team_rank)).flat[team.channel];
}

flat_line& line_of(team_data const& team, std::int32_t team_rank) {
  return channel_of(team, team_rank).lines[team.flat_step % flat_lines];
}

/// Only compared for equality with what is expected: that the upper bits of the step are lost does no harm.
std::uint64_t stamp_of(std::uint64_t step, noted_call const& call) {
  return step << history_bits | (call.history & ((1U << history_bits) - 1));
}

/// Wakes the member, or all of them (-1).
void wake(team_data const& team, std::int32_t member) {
  if (member >= 0) {
    team.host.wake(local_rank_of(team, member));
    return;
  }
  for (std::int32_t rank = 0; rank < team.rank_n; ++rank) wake(team, rank);
}

bool line_is_there(team_data const& team, noted_call const& call, std::int32_t rank) {
  flat_line const& line = line_of(team, rank);
  std::uint64_t const stamp = line.stamp.load(std::memory_order_acquire);
  std::uint64_t const expected = stamp_of(team.flat_step, call);
  if ((stamp ^ expected) >> history_bits != 0) return false;
  if (stamp != expected || line.signature != call.signature) [[unlikely]] {
    return compare(team, call, team.to_world(rank), line.signature,
                   stamp == expected ? call.history : ~call.history);
  }
  return true;
}

}  // namespace

bool flat_all_left(team_data& team, std::uint64_t step) {
  std::uint64_t least = ~std::uint64_t{0};
  for (std::int32_t i = 0; i < team.rank_n; ++i) {
    // Who was behind is probably still.
    std::int32_t const rank = (team.laggard + i) % team.rank_n;
    if (rank == team.rank_me) continue;
    // Pairs with the release in leave(): what we write from now on, the peer has not read.
    std::uint64_t const left = channel_of(team, rank).left.load(std::memory_order_acquire);
    if (left < step) {
      team.laggard = rank;
      return false;
    }
    least = std::min(least, left);
  }
  // Members can be ahead of this rank.
  team.all_left = std::max(team.all_left, std::min(least, team.flat_step));
  return true;
}

bool flat_room(team_data& team) {
  std::uint64_t const used = team.line_used[(team.flat_step + 1) % flat_lines];
  return used <= team.all_left || flat_all_left(team, used);
}

void flat_publish(team_data& team, noted_call const& call, void const* payload, std::size_t bytes,
                  std::int32_t reader) {
  std::uint64_t const step = ++team.flat_step;
  team.line_used[step % flat_lines] = step;
  flat_line& mine = line_of(team, team.rank_me);
  if (bytes != 0) std::memcpy(mine.payload, payload, bytes);
  mine.signature = call.signature;
  leaves_for_peers();
  // Pairs with the acquire in line_is_there(): who sees the stamp sees the payload and all stores before.
  mine.stamp.store(stamp_of(step, call), std::memory_order_release);
  if (team.host.anybody_sleeps()) [[unlikely]]
    wake(team, reader);
}

bool flat_complete(team_data& team, noted_call const& call, std::int32_t& seen) {
  for (; seen < team.rank_n; ++seen) {
    if (seen != team.rank_me && !line_is_there(team, call, seen)) return false;
  }
  team.all_left = std::max(team.all_left, team.flat_step - 1);
  came_from_peers();
  return true;
}

bool flat_met(team_data& team) {
  flat_meeting& m = *team.meeting;
  if (!flat_complete(team, m.call, m.seen)) return false;
  m.over = true;
  team.meeting = nullptr;
  return true;
}

std::uint64_t flat_block(team_data& team, std::size_t bytes) {
  std::uint64_t const block = team.staging.next(bytes, team.all_left);
  if (block != staging_blocks::later || !flat_all_left(team, team.staging.first_use())) return block;
  return team.staging.next(bytes, team.all_left);
}

void flat_copy(team_data const& team, std::byte* to, std::byte const* from, std::size_t bytes) noexcept {
  std::int32_t const reader = team.to_world((team.rank_me + team.rank_n / 2) % team.rank_n);
  progress_engine::here().shm.copy_for(reader, to, from, bytes);
}

bool flat_collective::is_there(std::int32_t rank) {
  if (!line_is_there(*team, call, rank)) return false;
  if (team->rank_n == 2) team->all_left = std::max(team->all_left, team->flat_step - 1);
  came_from_peers();
  return true;
}

void flat_collective::leave() {
  // Pairs with the acquire in flat_all_left().
  leaves_for_peers();
  channel_of(*team, team->rank_me).left.store(team->flat_step, std::memory_order_release);
  // Whoever wrote in this step or in one before may wait for its line, also where a line of another step is the one
  // that this rank has read last.
  if (team->host.anybody_sleeps()) [[unlikely]]
    wake(*team, -1);
}

std::byte const* flat_collective::payload_of(std::int32_t rank) const { return line_of(*team, rank).payload; }

std::byte const* flat_collective::block_at(std::int32_t rank, std::uint64_t offset) const {
  return team->host.at(local_rank_of(*team, rank), offset);
}

}  // namespace atl::engine
