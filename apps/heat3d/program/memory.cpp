#include "program/memory.hpp"

#include <array>
#include <cstdio>
#include <functional>
#include <set>
#include <string_view>

#include "common/host.hpp"

namespace heat3d {
namespace {

constexpr double bytes_per_cell = 24;           // two fields, and the initial values while they are loaded
constexpr double bytes_per_cell_on_device = 8;  // these only

/// A number that tells names apart, small enough to be exact as a double.
double number_of(std::string_view name) {
  return static_cast<double>(std::hash<std::string_view>{}(name) >> 12U);
}

double host_number() { return number_of(apps::host_name()); }

}  // namespace

std::optional<std::string> memory_problem(triple const& domain, process_grid const& grid, communicator& ranks,
                                          bool fields_on_device) {
  double const mine = host_number();
  auto const hosts = ranks.gather({&mine, 1});
  double needed = 0;
  int here = 0;
  for (int r = 0; r < static_cast<int>(hosts.size()); ++r) {
    if (hosts[r].front() != mine) continue;
    needed += (fields_on_device ? bytes_per_cell_on_device : bytes_per_cell) *
              static_cast<double>(make_block(domain, grid, r).cells.cell_n());
    ++here;
  }
  auto const available = apps::available_bytes();
  if (ranks.rank() != 0 || needed <= available) return std::nullopt;
  constexpr double gib = 1024.0 * 1024 * 1024;
  std::array<char, 200> text{};
  std::snprintf(
      text.data(), text.size(),
      "memory does not suffice: the fields of %d rank%s on this host need %.1f GiB, but %.1f GiB are free; "
      "use a smaller domain or more hosts",
      here, here == 1 ? "" : "s", needed / gib, available / gib);
  return text.data();
}

int device_n(device_memory const& mine, communicator& ranks) {
  double const number = number_of(mine.uuid());
  std::set<double> different;
  for (auto const& theirs : ranks.gather({&number, 1})) different.insert(theirs.front());
  return static_cast<int>(different.size());
}

}  // namespace heat3d
