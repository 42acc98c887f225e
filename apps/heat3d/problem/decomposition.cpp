#include "problem/decomposition.hpp"

#include <algorithm>

namespace heat3d {
namespace {

bool fits(triple const& domain, process_grid const& g) {
  return g[0] <= domain[0] && g[1] <= domain[1] && g[2] <= domain[2];
}

/// Some grid of that many ranks which the domain can be divided by, the most cubic first.
std::optional<process_grid> fitting_grid(triple const& domain, int ranks) {
  std::optional<process_grid> best;
  for (int x = 1; x <= ranks; ++x) {
    if (ranks % x != 0) continue;
    for (int y = 1; y <= ranks / x; ++y) {
      if (ranks / x % y != 0) continue;
      process_grid const g{x, y, ranks / x / y};
      if (fits(domain, g) && (!best || *std::ranges::max_element(g) < *std::ranges::max_element(*best)))
        best = g;
    }
  }
  return best;
}

std::array<bool, face_n> neighbor_faces(block const& b) {
  std::array<bool, face_n> faces{};
  for (int f = 0; f < face_n; ++f) faces[f] = b.neighbor[f] >= 0;
  return faces;
}

}  // namespace

int block::neighbor_n() const {
  return static_cast<int>(std::ranges::count_if(neighbor, [](int rank) { return rank >= 0; }));
}

process_grid default_grid(int ranks) {
  // Integer roots: the floating-point cube root of 64 is slightly below 4.
  int x = 1;
  while (static_cast<std::int64_t>(x + 1) * (x + 1) * (x + 1) <= ranks) ++x;
  while (ranks % x != 0) ++x;
  int const rest = ranks / x;
  int y = 1;
  while (static_cast<std::int64_t>(y + 1) * (y + 1) <= rest) ++y;
  while (rest % y != 0) ++y;
  return {x, y, rest / y};
}

process_grid choose_grid(triple const& domain, int ranks) {
  auto const usual = default_grid(ranks);
  return fits(domain, usual) ? usual : fitting_grid(domain, ranks).value_or(usual);
}

std::optional<std::string> grid_problem(triple const& domain, process_grid const& grid, int ranks) {
  // Each number is at most 10^6, so that 64 bits hold the product.
  auto const product = static_cast<std::int64_t>(grid[0]) * grid[1] * grid[2];
  if (product != ranks) {
    return "--grid " + std::to_string(grid[0]) + "," + std::to_string(grid[1]) + "," +
           std::to_string(grid[2]) + " is for " + std::to_string(product) + " ranks, but the job has " +
           std::to_string(ranks) + "; leave --grid out or change -n";
  }
  if (fits(domain, grid)) return std::nullopt;
  auto message = "a domain of " + text(domain) + " cells cannot be divided among " + text(grid) + " ranks: ";
  for (int d = 0; d < 3; ++d) {
    if (grid[d] > domain[d]) {
      message += std::to_string(grid[d]) + " ranks share " + std::to_string(domain[d]) + " cells in " +
                 "xyz"[d] + "; ";
      break;
    }
  }
  if (auto const other = fitting_grid(domain, ranks)) {
    auto const& g = *other;
    return message + "try --grid " + std::to_string(g[0]) + "," + std::to_string(g[1]) + "," +
           std::to_string(g[2]);
  }
  return message + "try fewer ranks or a larger domain";
}

block make_block(triple const& domain, process_grid const& grid, int rank) {
  std::array<int, 3> const at = {rank % grid[0], rank / grid[0] % grid[1], rank / (grid[0] * grid[1])};
  std::array<int, 3> const stride = {1, grid[0], grid[0] * grid[1]};
  block b;
  for (int d = 0; d < 3; ++d) {
    auto const width = domain[d] / grid[d];
    auto const wider = domain[d] % grid[d];  // that many blocks at the low end have one cell more
    auto const low = [&](std::int64_t i) { return i * width + std::min(i, wider); };
    b.cells.low[d] = low(at[d]);
    b.cells.high[d] = low(at[d] + 1);
    b.neighbor[2 * d] = at[d] > 0 ? rank - stride[d] : -1;
    b.neighbor[2 * d + 1] = at[d] + 1 < grid[d] ? rank + stride[d] : -1;
  }
  return b;
}

std::vector<box> peel(box& rest, std::array<bool, face_n> const& at) {
  // Whole z planes first, because their rows are contiguous.
  std::vector<box> layers;
  for (face f : {front, back, down, up, left, right}) {
    if (!at[f] || rest.is_empty()) continue;
    auto const d = axis_of(f);
    auto layer = rest;
    if (is_high(f)) {
      layer.low[d] = --rest.high[d];
    } else {
      layer.high[d] = ++rest.low[d];
    }
    layers.push_back(layer);
  }
  return layers;
}

box inner_box(block const& b) {
  box inner{{0, 0, 0}, b.extent()};
  peel(inner, neighbor_faces(b));
  return inner;
}

std::vector<box> surface_boxes(block const& b) {
  box rest{{0, 0, 0}, b.extent()};
  return peel(rest, neighbor_faces(b));
}

}  // namespace heat3d
