#include "program/sizing.hpp"

#include "common/host.hpp"
#include "program/triad.hpp"

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
  // Where no prime divides, that order gives some ranks up to half as many boxes again as others.
  double const boxes = what.boxes_per_rank * (what.order == box_order::primes ? 2 : 1);
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

double bytes_of_all(problem const& what, int ranks) {
  int const box = 1 << what.log2_box;
  double const boxes = cube(boxes_per_side(box, what.boxes_per_rank, ranks));
  double const cells = boxes * static_cast<double>(box_layout(box, what.radius()).volume());
  return 8.0 * 8 / 7 * cells * int{vector_n} + ranks * triad_bytes(what, boxes / ranks);
}

std::optional<std::string> memory_problem(problem const& what, runtime& ranks) {
  // Comparing with what is free makes sense where all look at the same memory.
  auto const host = apps::number_of(apps::host_name());
  bool const together = ranks.world().max(host) == -ranks.world().max(-host);
  int const box = 1 << what.log2_box;
  int const boxes = boxes_per_side(box, what.boxes_per_rank, ranks.size());
  if (ranks.rank() != 0 || !together) return std::nullopt;
  return apps::memory_shortage("the grids of " + std::to_string(boxes * box) + "^3 cells",
                               bytes_of_all(what, ranks.size()), "smaller or fewer boxes");
}

}  // namespace hpgmg
