// Which kinds of device memory there are.

#include "base/settings.hpp"
#include "memory/kind.hpp"
#include "memory/sim/sim_kind.hpp"

namespace atl::memory {

char const* to_string(kind_id id) noexcept {
  switch (id) {
    case kind_id::host:
      return "host";
    case kind_id::cuda:
      return "cuda";
    case kind_id::hip:
      return "hip";
    case kind_id::ze:
      return "ze";
  }
  return "unknown";
}

std::vector<std::unique_ptr<kind>> make_kinds(std::uint64_t seed) {
  std::vector<std::unique_ptr<kind>> kinds;
  settings::simulated_devices const wanted = settings::sim_devices();
  if (wanted.count == 0) return kinds;
  for (kind_id const id : {kind_id::cuda, kind_id::hip, kind_id::ze}) {
    if (wanted.kind != "all" && wanted.kind != to_string(id)) continue;
    kinds.push_back(std::make_unique<sim::sim_kind>(
        sim::sim_kind::shape{id, wanted.count, wanted.bytes, wanted.seed * 0x9e3779b97f4a7c15U + seed}));
  }
  return kinds;
}

}  // namespace atl::memory
