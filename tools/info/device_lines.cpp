#include "info/device_lines.hpp"

#include <algorithm>
#include <cstddef>

#include "base/error.hpp"
#include "transport/gpu_places.hpp"
#include "transport/nearest_devices.hpp"

namespace atl::tools {
namespace {

/// "0000:1b:00.0 (of ranks 1, 5, ... of a host)"
std::string words_on_gpu(std::vector<std::string> const& gpus, std::size_t which) {
  std::string const ranks =
      gpus.size() == 1 ? "all ranks" : format("ranks %zu, %zu, ...", which, which + gpus.size());
  return gpus[which] + " (of " + ranks + " of a host)";
}

/// The GPUs that share the nearest switch with a device.
std::string words_on_gpus_beside(std::string const& device, std::vector<std::string> const& gpus,
                                 std::string const& sys) {
  std::string text;
  int most = 1;
  for (std::size_t which = 0; which < gpus.size(); ++which) {
    int const bridges = transport::nearness_to_gpu(device, gpus[which], sys).bridges;
    if (bridges < most) continue;
    if (bridges > most) text.clear();
    most = bridges;
    text += (text.empty() ? "; beside GPU " : ", ") + words_on_gpu(gpus, which);
  }
  return text;
}

}  // namespace

std::string words_on_devices(std::vector<int> const& cpus, std::string const& root) {
  std::string const sys = root + "/sys";
  std::vector<std::string> const gpus = transport::usable_gpus(root);
  std::string text;
  for (transport::device_place const& each : transport::attached_devices(sys)) {
    text += "            device " + each.name + ": ";
    text += each.cpus.empty() ? "near no cores in particular" : "near cores " + each.cpus;
    if (each.numa_node >= 0)
      text += format(" (NUMA node %d; distance %d from those of this process, 10 is nearest)", each.numa_node,
                     transport::distance_of(each.name, cpus, sys));
    text += words_on_gpus_beside(each.name, gpus, sys) + "\n";
  }
  return text;
}

}  // namespace atl::tools
