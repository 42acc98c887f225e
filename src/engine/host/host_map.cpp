#include <atoll/engine/host_map.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/host/set_host_map.hpp"

namespace atl::engine {

// Constant-initialised, so that pointers can be queried from static constructors and destructors of programs.
constinit host_map hosts{};

namespace {
/// What find_outside_run() needs. Read only where the run is not all.
struct all_of_host {
  bootstrap::host_ranks ranks;
  std::byte* regions = nullptr;
  std::vector<std::int32_t> distances;
};
/// Never destroyed: destructors of programs may ask after pointers.
all_of_host& host() {
  static auto& made = *new all_of_host;
  return made;
}
}  // namespace

void set_host_map(bootstrap::placement const& place, std::byte* regions, host_map map) {
  bootstrap::host_ranks const ranks = place.ranks_of_host();
  map.base = regions + ranks.run_begin() * map.stride;
  map.first = static_cast<std::uint32_t>(ranks.run_first());
  map.count = ranks.run_length();
  map.me = static_cast<std::uint32_t>(place.local_rank) - ranks.run_begin();
  if (!ranks.consecutive()) {
    all_of_host& all = host();
    all.ranks = ranks;
    all.regions = regions;
    auto const stride_64k = static_cast<std::int64_t>(map.stride >> host_map::distance_log2);
    all.distances.assign(static_cast<std::size_t>(place.size), 0);
    for (std::uint32_t r = 0; r < ranks.count(); ++r)
      all.distances[static_cast<std::size_t>(ranks.world_rank(r))] =
          static_cast<std::int32_t>((std::int64_t{r} - ranks.run_begin()) * stride_64k);
    map.distances = all.distances.data();
    map.distance_n = static_cast<std::uint32_t>(place.size);
  }
  hosts = map;
}

host_address find_outside_run(void const* pointer) noexcept {
  all_of_host const& all = host();
  auto const distance =
      reinterpret_cast<std::uintptr_t>(pointer) - reinterpret_cast<std::uintptr_t>(all.regions);
  std::uint64_t const local = distance / hosts.stride;
  std::uint64_t const offset = distance - local * hosts.stride;
  if (local >= all.ranks.count() || offset - hosts.heap_begin >= hosts.heap_end - hosts.heap_begin)
    return {0, 0};
  return {static_cast<std::uint32_t>(all.ranks.world_rank(static_cast<std::uint32_t>(local))), offset};
}

}  // namespace atl::engine
