#include "program/sizing.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <functional>

#include "common/host.hpp"

namespace hpgmg {
namespace {

double cube(double x) { return x * x * x; }

/// Doubles of `boxes` boxes of n^3 cells: vectors, and buffers of packed ghosts.
double box_doubles(double boxes, int n, int ghost) {
  double const vectors = static_cast<double>(box_layout(n, ghost).volume()) * int{vector_n};
  double const surface = cube(n + 2 * ghost) - cube(n);
  return boxes * (vectors + 4 * surface);
}

}  // namespace

double most_bytes_per_rank(problem const& what) {
  double const boxes = what.boxes_per_rank;
  int const ghost = what.radius();
  double doubles = 0;
  for (int n = 1 << what.log2_box; n >= 1; n /= 2) doubles += box_doubles(boxes, n, ghost);
  // Merged boxes, and what passes between levels whose owners differ.
  constexpr int merged = 8;
  for (double left = boxes; left > 1; left /= 8) doubles += box_doubles(left, merged, ghost);
  doubles += boxes * 4 * cube(merged);
  constexpr double others = 32.0 * 1024 * 1024;  // small grids with odd numbers of boxes, the library's own
  return 1.05 * 8 * doubles + others;
}

std::optional<std::string> memory_problem(problem const& what, runtime& ranks) {
  // Comparing with what is free makes sense where all look at the same memory.
  auto const host = static_cast<double>(std::hash<std::string>{}(apps::host_name()) >> 12U);
  bool const together = ranks.world().max(host) == -ranks.world().max(-host);
  int const box = 1 << what.log2_box;
  double const m = boxes_per_side(box, what.boxes_per_rank, ranks.size());
  double const needed =
      8.0 * 8 / 7 * cube(m) * static_cast<double>(box_layout(box, what.radius()).volume()) * int{vector_n};
  double const available = apps::available_bytes();
  if (ranks.rank() != 0 || !together || needed <= available) return std::nullopt;
  constexpr double gib = 1024.0 * 1024 * 1024;
  std::array<char, 200> text{};
  std::snprintf(
      text.data(), text.size(),
      "memory does not suffice: the grids of %g^3 cells need %.1f GiB, but %.1f GiB are free; use smaller "
      "or fewer boxes",
      m * box, needed / gib, available / gib);
  return text.data();
}

}  // namespace hpgmg
