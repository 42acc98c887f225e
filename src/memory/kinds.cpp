// Which kinds of device memory there are.

#include <cstdlib>

#include "base/settings.hpp"
#include "memory/cuda/cuda_driver.hpp"
#include "memory/gpu/gpu_kind.hpp"
#include "memory/hip/hip_driver.hpp"
#include "memory/kind.hpp"
#include "memory/sim/sim_kind.hpp"
#include "memory/ze/ze_driver.hpp"

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

namespace {

std::unique_ptr<gpu::driver> open_driver(kind_id id, std::string& why) {
  std::string const library = settings::gpu_driver(to_string(id));
  if (library == "none") return nullptr;
  if (id == kind_id::cuda) return cuda::cuda_driver::open(library, why);
  if (id == kind_id::hip) return hip::hip_driver::open(library, why);
  return ze::ze_driver::open(library, why);
}

}  // namespace

std::string why_absent(kind_id id) {
  std::string why;
  if (open_driver(id, why) != nullptr) return {};
  return why;
}

void ask_for_queues() noexcept { ::setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 0); }

std::vector<std::unique_ptr<kind>> make_kinds(std::uint64_t seed) {
  std::vector<std::unique_ptr<kind>> kinds;
  settings::simulated_devices const wanted = settings::sim_devices();
  for (kind_id const id : {kind_id::cuda, kind_id::hip, kind_id::ze}) {
    if (wanted.count != 0 && (wanted.kind == "all" || wanted.kind == to_string(id))) {
      kinds.push_back(std::make_unique<sim::sim_kind>(sim::sim_kind::shape{
          id, wanted.count, wanted.bytes, wanted.seed * 0x9e3779b97f4a7c15U + seed, wanted.atomics}));
      continue;
    }
    std::string why;
    if (auto driver = open_driver(id, why))
      kinds.push_back(std::make_unique<gpu::gpu_kind>(std::move(driver)));
  }
  return kinds;
}

}  // namespace atl::memory
