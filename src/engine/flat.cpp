// Flat collectives: publish one line, read everybody's. See collective.hpp.

#include <cstring>

#include "engine/collective.hpp"
#include "engine/peer_order.hpp"
#include "engine/world.hpp"
#include "transport/shm/doze.hpp"

namespace atl::engine {

std::uint32_t local_rank_of(team_data const& team, std::int32_t team_rank) {
  return static_cast<std::uint32_t>(team.to_world(team_rank) - world->shm->config().first);
}

namespace {

shm::flat_line& line_of(team_data const& team, std::uint32_t local_rank) {
  return world->shm->control(local_rank).flat[team.channel][team.flat_sequence & 1];
}

/// Flat collectives have no root: the number is in its place.
constexpr std::uint64_t root_bits = std::uint64_t{0xffffff} << 36U;

}  // namespace

void flat_publish(team_data& team, std::uint32_t number, collective_signature signature, void const* payload,
                  std::size_t bytes) {
  std::uint64_t const sequence = ++team.flat_sequence;
  shm::endpoint& shm = *world->shm;
  shm::flat_line& mine = line_of(team, shm.config().me);
  if (bytes != 0) std::memcpy(mine.payload, payload, bytes);
  mine.signature = (signature & ~root_bits) | (std::uint64_t{number} << 36U & root_bits);
  leaves_for_peers();
  // Pairs with the acquire in flat_complete: who sees the number sees the payload and all stores before.
  mine.sequence.store(sequence, std::memory_order_release);
  if (shm.control(0).sleepers.load(std::memory_order_relaxed) != 0) [[unlikely]] {
    for (std::int32_t peer = 0; peer < team.rank_n; ++peer) shm::wake(shm.control(local_rank_of(team, peer)));
  }
}

bool flat_complete(team_data const& team, std::uint32_t& seen) {
  shm::endpoint& shm = *world->shm;
  auto const count = static_cast<std::uint32_t>(team.rank_n);
  shm::flat_line const& mine = line_of(team, shm.config().me);
  for (; seen < count; ++seen) {
    auto const rank = static_cast<std::int32_t>(seen);
    shm::flat_line const& line = line_of(team, local_rank_of(team, rank));
    if (line.sequence.load(std::memory_order_acquire) != team.flat_sequence) return false;
    if (line.signature != mine.signature) [[unlikely]]
      mismatch(team, static_cast<std::uint32_t>((mine.signature & root_bits) >> 36U),
               mine.signature & ~root_bits, team.to_world(rank), line.signature & ~root_bits);
  }
  came_from_peers();
  return true;
}

std::byte const* flat_payload_of(team_data const& team, std::int32_t team_rank) {
  return line_of(team, local_rank_of(team, team_rank)).payload;
}

}  // namespace atl::engine
