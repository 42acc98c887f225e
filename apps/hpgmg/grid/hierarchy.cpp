#include "grid/hierarchy.hpp"

#include <algorithm>
#include <cstdint>

namespace hpgmg {
namespace {

constexpr int largest_odd_part = 11;
/// Boxes are halved down to this, then merged.
constexpr int agglomeration_box = 8;

int odd_part(int x) {
  while (x % 2 == 0) x /= 2;
  return x;
}

/// Gives the boxes of a block their positions on a curve.
class curve {
 public:
  explicit curve(int boxes) : boxes_(boxes), position_(static_cast<std::size_t>(boxes) * boxes * boxes) {}

  void visit(box_index at) { position_[static_cast<std::size_t>(box_id(at, boxes_))] = next_++; }

  /// Octants, i fastest; the lower ones have the smaller half.
  void morton(box_index low, box_index size) {
    if (size[0] == 0 || size[1] == 0 || size[2] == 0) return;
    if (size == box_index{1, 1, 1}) return visit(low);
    for (int octant = 0; octant < 8; ++octant) {
      box_index corner = low;
      box_index part;
      for (int d = 0; d < 3; ++d) {
        int const lower = size[d] / 2;
        bool const high = (octant >> d & 1) != 0;
        corner[d] += high ? lower : 0;
        part[d] = high ? size[d] - lower : lower;
      }
      morton(corner, part);
    }
  }

  /// Halves of the longest side, the lower one larger.
  void bisect(box_index low, box_index size) {
    if (size == box_index{1, 1, 1}) return visit(low);
    auto const d = static_cast<std::size_t>(std::max_element(size.begin(), size.end()) - size.begin());
    box_index first = size;
    first[d] = (size[d] + 1) / 2;
    box_index rest = size;
    rest[d] -= first[d];
    box_index corner = low;
    corner[d] += first[d];
    bisect(low, first);
    bisect(corner, rest);
  }

  [[nodiscard]] std::vector<int> const& positions() const { return position_; }

 private:
  int boxes_;
  int next_ = 0;
  std::vector<int> position_;
};

/// Cuts the longest side by the smallest prime that divides both it and the ranks; without one, in two parts
/// in proportion to the ranks.
void partition(std::vector<int>& owner, int boxes, box_index low, box_index size, int first, int ranks) {
  if (ranks == 1 || size == box_index{1, 1, 1}) {
    for (int k = 0; k < size[2]; ++k) {
      for (int j = 0; j < size[1]; ++j) {
        for (int i = 0; i < size[0]; ++i) {
          owner[static_cast<std::size_t>(box_id({low[0] + i, low[1] + j, low[2] + k}, boxes))] = first;
        }
      }
    }
    return;
  }
  int d = 2;
  for (int other : {1, 0}) {
    if (size[other] > size[d]) d = other;
  }
  for (int const prime : {2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41}) {
    if (size[d] % prime != 0 || ranks % prime != 0) continue;
    box_index part = size;
    part[d] /= prime;
    for (int p = 0; p < prime; ++p) {
      box_index corner = low;
      corner[d] += p * part[d];
      partition(owner, boxes, corner, part, first + p * (ranks / prime), ranks / prime);
    }
    return;
  }
  box_index lower = size;
  lower[d] = size[d] / 2;
  box_index upper = size;
  upper[d] -= lower[d];
  box_index corner = low;
  corner[d] += lower[d];
  int const share =
      std::clamp(static_cast<int>(std::int64_t{ranks} * lower[d] / size[d]), 1, std::max(1, ranks - 1));
  partition(owner, boxes, low, lower, first, share);
  partition(owner, boxes, corner, upper, first + share, ranks - share);
}

}  // namespace

int boxes_per_side(int box, int boxes_per_rank, int ranks) {
  std::int64_t const most = std::int64_t{boxes_per_rank} * ranks;
  int found = 1;
  for (int m = 1; m < 1000 && std::int64_t{m} * m * m <= most; ++m) {
    if (odd_part(m * box) <= largest_odd_part) found = m;
  }
  return found;
}

std::vector<grid_shape> plan_levels(grid_shape finest, int radius, bool periodic) {
  int const least = periodic ? 2 : 1;
  std::vector<grid_shape> levels{finest};
  for (;;) {
    grid_shape const fine = levels.back();
    if (fine.cells % 2 != 0 || fine.cells / 2 < least) return levels;
    grid_shape coarse = fine;
    coarse.cells /= 2;
    int bottom = fine.cells;
    while (bottom % 2 == 0 && bottom >= 2 * least) bottom /= 2;
    bool const halves = fine.box % 2 == 0 && fine.box / 2 >= radius;
    if (halves && fine.box > agglomeration_box) {
      coarse.box /= 2;
    } else if (fine.boxes % 2 == 0 && fine.box >= radius) {
      coarse.boxes /= 2;
    } else if (bottom != 1 && fine.cells == 2 * bottom && fine.cells / 2 >= radius) {
      coarse.box = fine.cells / 2;
      coarse.boxes = 1;
      coarse.ranks = 1;
    } else if (bottom != 1 && fine.cells == 4 * bottom && halves) {
      coarse.box /= 2;
      coarse.ranks = std::min(bottom, fine.ranks);
    } else if (bottom != 1 && fine.cells == 8 * bottom && halves) {
      coarse.box /= 2;
      coarse.ranks = std::min(bottom * bottom, fine.ranks);
    } else if (halves) {
      coarse.box /= 2;
    } else {
      return levels;
    }
    levels.push_back(coarse);
  }
}

std::vector<int> assign_boxes(int boxes, int ranks, box_order order) {
  std::int64_t const total = std::int64_t{boxes} * boxes * boxes;
  box_index const all{boxes, boxes, boxes};
  std::vector<int> owner(static_cast<std::size_t>(total));
  if (order == box_order::primes) {
    partition(owner, boxes, {0, 0, 0}, all, 0, ranks);
    return owner;
  }
  curve along(boxes);
  if (order == box_order::morton) along.morton({0, 0, 0}, all);
  if (order == box_order::bisection) along.bisect({0, 0, 0}, all);
  for (std::size_t id = 0; id < owner.size(); ++id) {
    std::int64_t const s = order == box_order::lexicographic ? static_cast<std::int64_t>(id)
                                                             : std::int64_t{along.positions()[id]};
    owner[id] = static_cast<int>(ranks * s / total);
  }
  return owner;
}

}  // namespace hpgmg
