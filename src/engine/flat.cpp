// Flat collectives: publish one line, read everybody's. See collective.hpp.

#include <cstring>

#include "engine/collective.hpp"
#include "engine/world.hpp"
#include "transport/shm/doze.hpp"

namespace atl::engine {

bool has_flat_channel(team_data const& team) { return team.channel >= 0; }

void flat_publish(team_data& team, void const* payload, std::size_t bytes) {
  std::uint64_t const sequence = ++team.flat_sequence;
  shm::endpoint& shm = *world->shm;
  shm::flat_line& mine = shm.own_control().flat[team.channel][sequence & 1];
  if (bytes != 0) std::memcpy(mine.payload, payload, bytes);
  // Pairs with the acquire in flat_complete: who sees the number sees the payload and all stores before.
  mine.sequence.store(sequence, std::memory_order_release);
  if (shm.control(0).sleepers.load(std::memory_order_relaxed) != 0) [[unlikely]] {
    for (std::uint32_t peer = 0; peer < shm.config().count; ++peer) shm::wake(shm.control(peer));
  }
}

bool flat_complete(team_data const& team, std::uint32_t& seen) {
  shm::endpoint& shm = *world->shm;
  auto const count = static_cast<std::uint32_t>(team.rank_n);
  for (; seen < count; ++seen) {
    auto const& line = shm.control(seen).flat[team.channel][team.flat_sequence & 1];
    if (line.sequence.load(std::memory_order_acquire) != team.flat_sequence) return false;
  }
  return true;
}

std::byte const* flat_payload_of(team_data const& team, std::uint32_t member) {
  return world->shm->control(member).flat[team.channel][team.flat_sequence & 1].payload;
}

}  // namespace atl::engine
