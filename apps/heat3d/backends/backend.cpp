#include "backends/backend.hpp"

#include <array>

#include "backends/stretches.hpp"

namespace heat3d {
namespace {

using maker = std::unique_ptr<backend> (*)(backend_setup const&);

struct entry {
  std::string_view name;
  maker make;
  bool on_device = false;
  bool in_kernel = false;
};

constexpr auto entries = std::to_array<entry>({
    {"plain", [](backend_setup const& s) { return make_plain_backend(s, false); }},
    {"plain-fused", [](backend_setup const& s) { return make_plain_backend(s, true); }},
#ifdef HEAT3D_HAS_KOKKOS
    {"kokkos", make_kokkos_backend, HEAT3D_KOKKOS_ON_DEVICE},
#endif
#ifdef HEAT3D_HAS_CUDA
    {"cuda", make_cuda_backend, true, true},
#endif
    {"device-sim", make_device_sim_backend, true, true},
});

}  // namespace

std::unique_ptr<stretch_runner> backend::make_stretches(stream_planes& /*planes*/) { return nullptr; }
std::unique_ptr<stretch_runner> backend::make_stretches(kernel_exchange& /*exchange*/) { return nullptr; }

std::string backend_names(bool on_devices_only) {
  std::string names;
  for (auto const& e : entries) {
    if (e.on_device || !on_devices_only) names += (names.empty() ? "" : ", ") + std::string(e.name);
  }
  return names;
}

bool backend_exists(std::string_view name) {
  for (auto const& e : entries) {
    if (e.name == name) return true;
  }
  return false;
}

bool backend_on_device(std::string_view name) {
  for (auto const& e : entries) {
    if (e.name == name) return e.on_device;
  }
  return false;
}

bool backend_in_kernel(std::string_view name) {
  for (auto const& e : entries) {
    if (e.name == name) return e.in_kernel;
  }
  return false;
}

std::unique_ptr<backend> make_backend(std::string_view name, backend_setup const& setup) {
  for (auto const& e : entries) {
    if (e.name == name) return e.make(setup);
  }
  return nullptr;
}

}  // namespace heat3d
