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

std::optional<device_place> place_of(std::string const& name, fs::path const& entry) {
  std::error_code error;
  if (!fs::exists(entry / "device", error)) return std::nullopt;
  return device_place{name, number_in(line_of(entry / "device/numa_node")).value_or(-1),
                      line_of(entry / "device/local_cpulist")};
}

std::string bare(std::string_view device) {
  device.remove_prefix(device.rfind('/') + 1);  // npos + 1 is 0
  return std::string(device.substr(0, device.find(':')));
}

}  // namespace

std::vector<device_place> attached_devices(std::string const& sys) {
  std::vector<device_place> all;
  for (char const* const sort : classes) {
    std::vector<device_place> some;
    std::error_code error;
    for (fs::directory_entry const& each : fs::directory_iterator(fs::path(sys) / "class" / sort, error)) {
      if (auto place = place_of(each.path().filename(), each.path())) some.push_back(std::move(*place));
    }
    std::sort(some.begin(), some.end(), [](auto const& a, auto const& b) { return a.name < b.name; });
    all.insert(all.end(), some.begin(), some.end());
  }
  return all;
}

int distance_of(std::string_view device, std::vector<int> const& cpus, std::string const& sys) {
  std::string const name = bare(device);
  std::optional<device_place> place;
  for (char const* const sort : classes) {
    if (!place && !name.empty()) place = place_of(name, fs::path(sys) / "class" / sort / name);
  }
  if (!place || place->numa_node < 0) return beside;
  fs::path const nodes = fs::path(sys) / "devices/system/node";
  std::istringstream distances(line_of(nodes / ("node" + std::to_string(place->numa_node)) / "distance"));
  std::vector<int> const online = numbers_in(line_of(nodes / "online"));
  int least = 0;
  for (int const node : online) {
    int distance = 0;
    if (!(distances >> distance)) break;
    std::vector<int> const of_node = numbers_in(line_of(nodes / ("node" + std::to_string(node)) / "cpulist"));
    bool const ours =
        std::find_first_of(cpus.begin(), cpus.end(), of_node.begin(), of_node.end()) != cpus.end();
    if (ours && (least == 0 || distance < least)) least = distance;
  }
  return least == 0 ? beside : least;
}

std::uint64_t interface_speed(std::string_view interface, std::string const& sys) {
  int const megabits = number_in(line_of(fs::path(sys) / "class/net" / interface / "speed")).value_or(0);
  return megabits > 0 ? std::uint64_t{1'000'000} * static_cast<unsigned>(megabits) : 0;
}

bool is_bridge(std::string_view interface, std::string const& sys) {
  std::error_code error;
  return fs::exists(fs::path(sys) / "class/net" / interface / "bridge", error);
}

std::vector<int> cpus_of_this_process() {
  constexpr std::string_view key = "Cpus_allowed_list:";
  std::ifstream in("/proc/self/status");
  for (std::string line; std::getline(in, line);) {
    if (!line.starts_with(key)) continue;
    std::size_t const begin = line.find_first_of("0123456789", key.size());
    return begin == std::string::npos ? std::vector<int>() : numbers_in(line.substr(begin));
  }
  return {};
}

}  // namespace atl::transport
