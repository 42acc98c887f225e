#include "movers/box_arrays.hpp"

#include <upcxx/upcxx.hpp>

namespace hpgmg {
namespace {

/// Box `at` of a grid that is cut into boxes of n cells; `first` is its first ghost.
cell_array box_array(double* first, box_index at, int n, int ghosts, std::ptrdiff_t row,
                     std::ptrdiff_t plane) {
  atl::point<3> const lower{at[0] * n, at[1] * n, at[2] * n};
  atl::domain<3> const cells{lower, lower + atl::point<3>::all(n)};
  return {upcxx::to_global_ptr(first), cells.grow(ghosts), {1, row, plane}};
}

}  // namespace

std::vector<cell_array> arrays_of(level const& l, int ghosts) {
  std::vector<cell_array> all;
  box_layout const& b = l.layout();
  for (auto const& own : l.boxes()) {
    all.push_back(
        box_array(l.cells(own, 0) - b.at(ghosts, ghosts, ghosts), own.at, b.n, ghosts, b.row, b.plane));
  }
  return all;
}

std::vector<cell_array> arrays_of(std::vector<parcel> const& list, arena const& memory, level const& fine,
                                  int n) {
  std::vector<cell_array> all;
  for (parcel const& p : list) {
    if (p.slot < 0) continue;
    std::ptrdiff_t const row = n;
    all.push_back(box_array(memory.local + p.slot, box_at(p.fine, fine.shape().boxes), n, 0, row, row * row));
  }
  return all;
}

}  // namespace hpgmg
