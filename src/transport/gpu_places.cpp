#include "transport/gpu_places.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <sstream>
#include <string_view>
#include <tuple>

#include "base/settings.hpp"
#include "memory/kind.hpp"
#include "transport/system_files.hpp"

namespace atl::transport {
namespace {

namespace fs = std::filesystem;

using addresses = std::vector<std::string>;

struct vendor {
  std::string_view id;
  memory::kind_id kind;
  std::array<char const*, 2> variables;  ///< each numbers what the one before it leaves
};
/// In the order of preference, which is that of gpu_default_device.
constexpr std::array<vendor, 2> vendors{{
    {"0x10de", memory::kind_id::cuda, {"CUDA_VISIBLE_DEVICES", nullptr}},
    {"0x1002", memory::kind_id::hip, {"ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES"}},
}};

/// Of the bus: VGA, 3D and other display controllers, accelerators. Those that servers have for their consoles are of other vendors.
constexpr std::array<std::string_view, 4> gpu_classes{"0x0300", "0x0302", "0x0380", "0x1200"};

struct gpu {
  std::string address;
  std::string vendor_id;
};

std::vector<gpu> attached_gpus(std::string const& root) {
  std::vector<gpu> all;
  std::error_code error;
  for (fs::directory_entry const& each : fs::directory_iterator(root + "/sys/bus/pci/devices", error)) {
    fs::path const& device = each.path();
    std::string const sort = line_of(device / "class").substr(0, gpu_classes[0].size());
    if (std::find(gpu_classes.begin(), gpu_classes.end(), sort) == gpu_classes.end()) continue;
    if (!fs::exists(device / "numa_node", error)) continue;
    all.push_back({device.filename(), line_of(device / "vendor")});
  }
  // Domains have four digits or more.
  std::sort(all.begin(), all.end(), [](gpu const& a, gpu const& b) {
    return std::tuple(a.address.size(), a.address) < std::tuple(b.address.size(), b.address);
  });
  return all;
}

bool is_open_to_us(fs::path const& node) { return ::access(node.c_str(), R_OK | W_OK) == 0; }

/// Under which number NVIDIA's driver has a GPU; nothing: it does not have it, or not in this container.
std::optional<int> minor_of(std::string const& address, std::string const& root) {
  return number_in(
      value_of("Device Minor:", root + "/proc/driver/nvidia/gpus/" + address + "/information").value_or(""));
}

/// Schedulers and containers keep processes from GPUs that /sys shows all the same, and drivers number what is left. Looks whether
/// this one may open the file of a GPU, which takes no driver; where nobody says which file that is, it may.
bool may_be_opened(gpu const& one, std::string const& root) {
  std::error_code error;
  if (one.vendor_id == vendors[0].id) {
    if (!fs::exists(root + "/proc/driver/nvidia/gpus", error)) return true;
    std::optional<int> const minor = minor_of(one.address, root);
    return minor && is_open_to_us(root + "/dev/nvidia" + std::to_string(*minor));
  }
  fs::path const files = root + "/dev/dri";
  std::string const listed = root + "/sys/bus/pci/devices/" + one.address + "/drm";
  for (fs::directory_entry const& each : fs::directory_iterator(listed, error)) {
    std::string const name = each.path().filename();
    if (name.starts_with("renderD")) return is_open_to_us(files / name);
  }
  return true;
}

/// Those that a vendor's variable lets be seen; what follows a wrong number is not. Nothing: it does not say so by numbers.
std::optional<addresses> visible(addresses const& all, char const* list) {
  if (list == nullptr) return all;
  addresses seen;
  std::istringstream names(list);
  for (std::string name; std::getline(names, name, ',');) {
    int number = 0;
    auto const [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
    if (error != std::errc{} || end != name.data() + name.size()) return std::nullopt;
    if (number < 0 || static_cast<std::size_t>(number) >= all.size()) break;
    seen.push_back(all[static_cast<std::size_t>(number)]);
  }
  return seen;
}

}  // namespace

std::vector<std::string> usable_gpus(std::string const& root) {
  std::vector<gpu> const all = attached_gpus(root);
  for (vendor const& each : vendors) {
    if (settings::gpu_driver(memory::to_string(each.kind)) == "none") continue;
    addresses usable;
    for (gpu const& one : all) {
      if (one.vendor_id == each.id && may_be_opened(one, root)) usable.push_back(one.address);
    }
    for (char const* const variable : each.variables) {
      if (variable == nullptr || usable.empty()) continue;
      std::optional<addresses> seen = visible(usable, std::getenv(variable));
      if (!seen) return {};
      usable = std::move(*seen);
    }
    if (!usable.empty()) return usable;
  }
  return {};
}

std::string gpu_of_rank(int local_rank, std::string const& root) {
  addresses const usable = usable_gpus(root);
  if (usable.empty()) return {};
  int const device = memory::usual_device(local_rank, 0, static_cast<int>(usable.size()));
  return usable[static_cast<std::size_t>(device)];
}

}  // namespace atl::transport
