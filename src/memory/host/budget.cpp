#include "memory/host/budget.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <fstream>
#include <sstream>
#include <string_view>
#include <vector>

#include "base/error.hpp"

namespace atoll::memory {
namespace {

constexpr std::uint64_t unbounded = ~std::uint64_t{0};
constexpr std::uint64_t private_bytes_per_rank = 8u << 20;  // what a rank needs beside its region, about

/// One number alone in a file; `unbounded` if absent or "max".
std::uint64_t read_number(std::string const& path) {
  std::ifstream file(path);
  std::uint64_t value = 0;
  return file >> value ? value : unbounded;
}

/// Value of "key 123" or "key: 123 kB" in a file of such lines; `absent` if there is none.
std::uint64_t read_key(std::string const& path, std::string_view key, std::uint64_t absent) {
  std::ifstream file(path);
  std::string line;
  while (std::getline(file, line)) {
    if (line.compare(0, key.size(), key) != 0) continue;
    std::istringstream rest(line.substr(key.size()));
    if (rest.peek() == ':') rest.get();
    std::uint64_t value = 0;
    std::string unit;
    if (!(rest >> value)) continue;  // a longer key with the same beginning
    rest >> unit;
    return unit == "kB" ? value * 1024 : value;
  }
  return absent;
}

struct mount {
  std::string root;  ///< directory of the file system that appears at `point`
  std::string point;
};

/// Where the control groups of a version are mounted. Version 1: the hierarchy of the memory controller.
bool find_mount(std::string const& root, bool version2, mount& found) {
  std::ifstream file(root + "/proc/self/mountinfo");
  std::string line;
  while (std::getline(file, line)) {
    auto const dash = line.find(" - ");
    if (dash == std::string::npos) continue;
    std::istringstream head(line.substr(0, dash));
    std::istringstream tail(line.substr(dash + 3));
    std::string skipped, type, source, options;
    mount candidate;
    head >> skipped >> skipped >> skipped >> candidate.root >> candidate.point;
    tail >> type >> source >> options;
    bool const match = version2
                           ? type == "cgroup2"
                           : type == "cgroup" && ("," + options + ",").find(",memory,") != std::string::npos;
    if (!match) continue;
    found = candidate;
    return true;
  }
  return false;
}

/// Path of this process' group in the hierarchy of a version, as /proc/self/cgroup names it.
bool find_group(std::string const& root, bool version2, std::string& path) {
  std::ifstream file(root + "/proc/self/cgroup");
  std::string line;
  while (std::getline(file, line)) {
    auto const first = line.find(':');
    auto const second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    std::string const controllers = line.substr(first + 1, second - first - 1);
    bool const match =
        version2 ? controllers.empty() : ("," + controllers + ",").find(",memory,") != std::string::npos;
    if (!match) continue;
    path = line.substr(second + 1);
    return true;
  }
  return false;
}

void bound_by_groups(std::string const& root, bool version2, memory_budget& budget) {
  mount at;
  std::string path;
  if (!find_mount(root, version2, at) || !find_group(root, version2, path)) return;
  // In a container the mount shows a part of the hierarchy, whose name may differ from the group's path.
  if (at.root != "/" && path.compare(0, at.root.size(), at.root) == 0) path.erase(0, at.root.size());
  char const* const limit_file = version2 ? "/memory.max" : "/memory.limit_in_bytes";
  char const* const usage_file = version2 ? "/memory.current" : "/memory.usage_in_bytes";
  char const* const cache_key = version2 ? "inactive_file" : "total_inactive_file";
  while (!path.empty() && path.back() == '/') path.pop_back();
  for (;;) {
    std::string const directory = root + at.point + path;
    std::uint64_t const limit = read_number(directory + limit_file);
    std::uint64_t const usage = read_number(directory + usage_file);
    if (limit != unbounded && usage != unbounded) {
      // Cached file pages count as usage but leave when memory is needed.
      std::uint64_t const cache = std::min(usage, read_key(directory + "/memory.stat", cache_key, 0));
      std::uint64_t const used = usage - cache;
      std::uint64_t const available = limit > used ? limit - used : 0;
      if (available < budget.available_bytes) {
        budget.available_bytes = available;
        budget.reason = readable_bytes(available) + " free in control group " + (path.empty() ? "/" : path) +
                        " (limit " + readable_bytes(limit) + ")";
      }
    }
    if (path.empty()) return;
    path.erase(path.rfind('/') == std::string::npos ? 0 : path.rfind('/'));
  }
}

}  // namespace

std::string readable_bytes(std::uint64_t bytes) {
  constexpr std::array units{"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  std::size_t unit = 0;
  double value = static_cast<double>(bytes);
  while (value >= 1024 && unit + 1 < units.size()) {
    value /= 1024;
    ++unit;
  }
  bool const whole = value == static_cast<double>(static_cast<std::uint64_t>(value));
  return format(whole ? "%.0f %s" : "%.1f %s", value, units[unit]);
}

memory_budget read_memory_budget(std::string const& root) {
  memory_budget budget;
  std::string const info = root + "/proc/meminfo";
  std::uint64_t const available = read_key(info, "MemAvailable", unbounded);
  if (available != unbounded) {
    std::uint64_t const swap = read_key(info, "SwapFree", 0);
    budget.available_bytes = available + swap;
    budget.reason = readable_bytes(available) + " of memory free on the host";
    if (swap > 0) budget.reason += " and " + readable_bytes(swap) + " of swap";
  }
  bound_by_groups(root, true, budget);
  bound_by_groups(root, false, budget);
  return budget;
}

std::string explain_shortage(memory_budget const& budget, std::uint64_t bytes_per_rank, std::uint32_t ranks) {
  std::uint64_t const overhead = ranks * private_bytes_per_rank;
  std::uint64_t needed = 0;
  bool const overflow = __builtin_mul_overflow(bytes_per_rank, std::uint64_t{ranks}, &needed) ||
                        __builtin_add_overflow(needed, overhead, &needed);
  if (!overflow && needed <= budget.available_bytes) return {};
  std::uint64_t const spare = budget.available_bytes > overhead ? budget.available_bytes - overhead : 0;
  std::uint64_t const fits = spare / ranks & ~((std::uint64_t{1} << 20) - 1);
  return format(
      "cannot reserve %s of shared memory for each of the %u ranks on this host: %s, and each rank needs %s "
      "of "
      "private memory besides. Lower UPCXX_SHARED_HEAP_SIZE (or --shared-heap): about %s per rank would fit; "
      "or "
      "start fewer ranks per host.",
      readable_bytes(bytes_per_rank).c_str(), ranks, budget.reason.c_str(),
      readable_bytes(private_bytes_per_rank).c_str(), readable_bytes(fits).c_str());
}

}  // namespace atoll::memory
