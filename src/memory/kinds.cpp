// Which kinds of device memory there are.

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string>

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

void ask_for_queues(int processes) {
  constexpr int most = 32;
  // Clients of the multi-process service share 120 of a device, and the first one that finds none left has no context.
  constexpr int shared = 96;
  char const* const pipes = std::getenv("CUDA_MPS_PIPE_DIRECTORY");
  std::string const service = pipes != nullptr ? pipes : "/tmp/nvidia-mps";
  bool const shares = ::access((service + "/control").c_str(), F_OK) == 0;
  std::string const number = std::to_string(shares ? std::clamp(shared / processes, 2, most) : most);
  ::setenv("CUDA_DEVICE_MAX_CONNECTIONS", number.c_str(), 0);
}

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
