#include "transport/nearest_devices.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>

#include "transport/system_files.hpp"

namespace atl::transport {
namespace {

namespace fs = std::filesystem;

/// Where the system lists them, the better sort first.
constexpr std::array<char const*, 3> classes{"infiniband", "cxi", "net"};

constexpr int beside = 10;

/// libfabric's names of EFA devices have it behind the system's.
constexpr std::string_view kind_of_endpoint = "-rdm";

/// "0-3,8"
std::vector<int> numbers_in(std::string const& list) {
  std::vector<int> all;
  std::istringstream parts(list);
  for (std::string part; std::getline(parts, part, ',');) {
    auto const first = number_in(part);
    std::size_t const dash = part.find('-');
    auto const last = dash == std::string::npos ? first : number_in(std::string_view(part).substr(dash + 1));
    if (!first || !last) continue;
    for (int n = *first; n <= *last; ++n) all.push_back(n);
  }
  return all;
}

/// Of a device on a bus; -1: the system does not say.
int node_of(fs::path const& on_bus) { return number_in(line_of(on_bus / "numa_node")).value_or(-1); }

/// Where a device is on a bus, by what the system lists it under; empty: on none.
fs::path place_on_bus(fs::path const& entry) {
  std::error_code error;
  return fs::exists(entry / "device", error) ? entry / "device" : fs::path();
}

fs::path place_of(std::string_view device, std::string const& sys) {
  std::string const name = bare_name(device);
  fs::path place;
  for (char const* const sort : classes) {
    if (place.empty() && !name.empty()) place = place_on_bus(fs::path(sys) / "class" / sort / name);
  }
  return place;
}

fs::path folder_of_node(int node, std::string const& sys) {
  return fs::path(sys) / "devices/system/node" / ("node" + std::to_string(node));
}

struct distance_to_node {
  int node;
  int distance;
};

/// None, if there is no such node.
std::vector<distance_to_node> distances_from(int node, std::string const& sys) {
  std::vector<distance_to_node> all;
  std::istringstream distances(line_of(folder_of_node(node, sys) / "distance"));
  for (int const other : numbers_in(line_of(fs::path(sys) / "devices/system/node/online"))) {
    int distance = 0;
    if (!(distances >> distance)) break;
    all.push_back({other, distance});
  }
  return all;
}

/// How many bridges of the bus two devices have above them both. They are the folders in which the system keeps what is behind them.
int bridges_above(fs::path const& one, fs::path const& other) {
  std::error_code error;
  fs::path const a = fs::canonical(one, error).parent_path();
  fs::path const b = fs::canonical(other, error).parent_path();
  auto const parting = std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first;
  // "0000:17:00.0", which the bus they begin with ("pci0000:15"), and those that hypervisors put before it, are not.
  return static_cast<int>(std::count_if(a.begin(), parting, [](fs::path const& folder) {
    std::string const& name = folder.native();
    return std::count(name.begin(), name.end(), ':') == 2;
  }));
}

/// Is an interface on a bus, or one of those that are joined in it? `deep`: so many times.
bool leads_to_device(fs::path const& interfaces, std::string const& name, int deep) {
  constexpr std::string_view joined = "lower_";
  if (!place_on_bus(interfaces / name).empty()) return true;
  std::error_code error;
  for (fs::directory_entry const& each : fs::directory_iterator(interfaces / name, error)) {
    std::string const file = each.path().filename();
    if (deep != 0 && file.starts_with(joined) &&
        leads_to_device(interfaces, file.substr(joined.size()), deep - 1))
      return true;
  }
  return false;
}

/// `routes`: lines of interface, target, gateway, …, the mask eighth.
bool has_default_route(std::string_view interface, std::string const& routes) {
  std::ifstream in(routes);
  for (std::string line; std::getline(in, line);) {
    std::istringstream words(line);
    std::array<std::string, 8> word;
    for (std::string& each : word) words >> each;
    if (word[0] == interface && word[1] == "00000000" && word[7] == "00000000") return true;
  }
  return false;
}

}  // namespace

std::string bare_name(std::string_view device) {
  device.remove_prefix(device.rfind('/') + 1);  // npos + 1 is 0
  device = device.substr(0, device.find(':'));
  if (device.ends_with(kind_of_endpoint)) device.remove_suffix(kind_of_endpoint.size());
  return std::string(device);
}

std::vector<device_place> attached_devices(std::string const& sys) {
  std::vector<device_place> all;
  for (char const* const sort : classes) {
    std::vector<device_place> some;
    std::error_code error;
    for (fs::directory_entry const& each : fs::directory_iterator(fs::path(sys) / "class" / sort, error)) {
      fs::path const place = place_on_bus(each.path());
      if (place.empty()) continue;
      some.push_back({each.path().filename(), node_of(place), line_of(place / "local_cpulist")});
    }
    std::sort(some.begin(), some.end(), [](auto const& a, auto const& b) { return a.name < b.name; });
    all.insert(all.end(), some.begin(), some.end());
  }
  return all;
}

int distance_of(std::string_view device, std::vector<int> const& cpus, std::string const& sys) {
  fs::path const place = place_of(device, sys);
  if (place.empty()) return beside;
  int least = 0;
  for (auto const& [node, distance] : distances_from(node_of(place), sys)) {
    std::vector<int> const of_node = numbers_in(line_of(folder_of_node(node, sys) / "cpulist"));
    bool const ours =
        std::find_first_of(cpus.begin(), cpus.end(), of_node.begin(), of_node.end()) != cpus.end();
    if (ours && (least == 0 || distance < least)) least = distance;
  }
  return least == 0 ? beside : least;
}

gpu_nearness nearness_to_gpu(std::string_view device, std::string_view gpu, std::string const& sys) {
  fs::path const place = place_of(device, sys);
  if (place.empty() || gpu.empty()) return {};
  fs::path const other = fs::path(sys) / "bus/pci/devices" / gpu;
  gpu_nearness found{bridges_above(place, other)};
  int const node_of_gpu = node_of(other);
  for (auto const& [node, distance] : distances_from(node_of(place), sys)) {
    if (node == node_of_gpu) found.distance = distance;
  }
  return found;
}

std::uint64_t interface_speed(std::string_view interface, std::string const& sys) {
  int const megabits = number_in(line_of(fs::path(sys) / "class/net" / interface / "speed")).value_or(0);
  return megabits > 0 ? std::uint64_t{1'000'000} * static_cast<unsigned>(megabits) : 0;
}

bool is_bridge(std::string_view interface, std::string const& sys) {
  std::error_code error;
  return fs::exists(fs::path(sys) / "class/net" / interface / "bridge", error);
}

bool joins_guests_only(std::string_view interface, std::string const& sys, std::string const& routes) {
  constexpr int deep = 4;  // a bridge of a VLAN of a bond
  return is_bridge(interface, sys) &&
         !leads_to_device(fs::path(sys) / "class/net", std::string(interface), deep) &&
         !has_default_route(interface, routes);
}

std::vector<int> cpus_of_this_process() {
  return numbers_in(value_of("Cpus_allowed_list:", "/proc/self/status").value_or(""));
}

}  // namespace atl::transport
