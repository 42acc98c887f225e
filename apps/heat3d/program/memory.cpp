#include "program/memory.hpp"

#include <set>

#include "common/host.hpp"

namespace heat3d {
namespace {

constexpr double bytes_per_cell = 24;           // two fields, and the initial values while they are loaded
constexpr double bytes_per_cell_on_device = 8;  // these only

}  // namespace

std::optional<std::string> memory_problem(triple const& domain, process_grid const& grid, communicator& ranks,
                                          bool fields_on_device, double gathered) {
  double const mine = apps::number_of(apps::host_name());
  auto const hosts = ranks.gather({&mine, 1});
  double needed = gathered;  // rank 0 is the one that compares
  int here = 0;
  for (int r = 0; r < static_cast<int>(hosts.size()); ++r) {
    if (hosts[r].front() != mine) continue;
    needed += (fields_on_device ? bytes_per_cell_on_device : bytes_per_cell) *
              static_cast<double>(make_block(domain, grid, r).cells.cell_n());
    ++here;
  }
  if (ranks.rank() != 0) return std::nullopt;
  return apps::memory_shortage("the fields of " + std::to_string(here) + (here == 1 ? " rank" : " ranks") +
                                   " on this host" +
                                   (gathered > 0 ? ", with what rank 0 gathers for --dump or --slice," : ""),
                               needed, "a smaller domain or more hosts");
}

int device_n(device_memory const& mine, communicator& ranks) {
  double const number = apps::number_of(mine.uuid());
  std::set<double> different;
  for (auto const& theirs : ranks.gather({&number, 1})) different.insert(theirs.front());
  return static_cast<int>(different.size());
}

}  // namespace heat3d
