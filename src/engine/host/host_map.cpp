#include <atoll/engine/host_map.hpp>

#include "engine/host/set_host_map.hpp"

namespace atl::engine {

// Constant-initialised, so that pointers can be queried from static constructors and destructors of programs.
constinit host_map hosts{};

namespace {
/// What `hosts.places` is part of. Read only while that is set.
bootstrap::host_ranks all_ranks;
}  // namespace

void set_host_map(bootstrap::host_ranks const& ranks, std::byte* regions, std::uint32_t me, host_map map) {
  map.base = regions + ranks.run_begin() * map.stride;
  map.first = static_cast<std::uint32_t>(ranks.run_first());
  map.count = ranks.run_length();
  map.me = me - ranks.run_begin();
  if (bootstrap::rank_table const* const table = ranks.table(); table != nullptr) {
    map.places = table->places.data();
    map.place_n = static_cast<std::uint32_t>(table->places.size());
    map.host = table->places[map.first].host;
    map.regions = regions;
  }
  all_ranks = ranks;
  hosts = map;
}

host_address find_outside_run(void const* pointer) noexcept {
  auto const distance =
      reinterpret_cast<std::uintptr_t>(pointer) - reinterpret_cast<std::uintptr_t>(hosts.regions);
  std::uint64_t const local = distance / hosts.stride;
  std::uint64_t const offset = distance - local * hosts.stride;
  if (local >= all_ranks.count() || offset - hosts.heap_begin >= hosts.heap_end - hosts.heap_begin)
    return {0, 0};
  return {static_cast<std::uint32_t>(all_ranks.world_rank(static_cast<std::uint32_t>(local))), offset};
}

}  // namespace atl::engine
