#pragma once

/// Which regions move between boxes, in each phase of communication: computed once, replayed by a mover.

#include <array>
#include <cstddef>
#include <vector>

namespace hpgmg {

/// Memory of every rank for one purpose: `local` is this rank's.
struct arena {
  virtual ~arena() = default;
  double* local = nullptr;
};

/// A cuboid of cells to be copied from the source's arena of one rank to the destination's of another.
/// Offsets and steps in doubles; rows are contiguous.
struct region {
  int peer = 0;  ///< the other rank
  std::ptrdiff_t source = 0;
  std::ptrdiff_t destination = 0;
  std::array<int, 3> extent{};
  std::array<std::ptrdiff_t, 2> source_step{};  ///< from row to row, from plane to plane
  std::array<std::ptrdiff_t, 2> destination_step{};

  [[nodiscard]] std::ptrdiff_t size() const { return std::ptrdiff_t{extent[0]} * extent[1] * extent[2]; }
};

/// Regions of this rank. Those between two ranks are in the same order on both.
struct plan {
  arena* source = nullptr;
  arena* destination = nullptr;
  std::vector<region> sends;     ///< by peer
  std::vector<region> receives;  ///< by peer
  std::vector<region> locals;
};

/// The other ranks that a plan concerns.
std::vector<int> peers_of(plan const& moves);

/// Which neighbours of a box an exchange fills ghosts from.
enum class ghost_shape { box, star, no_corners };
inline constexpr int ghost_shape_n = 3;
/// Directions are 13 + di + 3 dj + 9 dk with components -1, 0, 1.
bool in_shape(ghost_shape shape, int direction);
inline std::array<int, 3> components(int direction) {
  return {direction % 3 - 1, direction / 3 % 3 - 1, direction / 9 - 1};
}

/// Copies a cuboid; short rows by loops made for them.
void copy_cells(double* to, double const* from, region const& r);

class level;
/// Ghosts of all boxes of a level, from interior cells. For a face coefficient, `normal` to which it is: then
/// also those on the domain's upper wall, which are in the place of ghosts.
plan plan_exchange(level const& l, ghost_shape shape, int normal = -1);

/// A coarse box, or part of it, that belongs to a fine box: where this rank computes it or gets it.
struct parcel {
  int fine = 0;              ///< number of the fine box
  int box = 0;               ///< own box of the computing level
  int other = -1;            ///< own box of the other level; -1: it is another rank's
  std::ptrdiff_t at = 0;     ///< offset in the vector of the coarse box
  std::ptrdiff_t slot = -1;  ///< offset in memory for what travels; -1: it does not
};

/// From fine to coarse. `normal`: 0 to 2 for face coefficients, -1 for cells.
struct restriction_plan {
  plan moves;                   ///< scratch of the fine level's owners to coarse boxes
  std::vector<parcel> parcels;  ///< `box` is fine
};
restriction_plan plan_restriction(level const& fine, level const& coarse, int normal, arena& scratch);
/// Doubles of scratch memory for all its restrictions.
std::ptrdiff_t restriction_scratch(level const& fine, level const& coarse);

/// From coarse to fine, at the fine resolution.
struct interpolation_plan {
  plan moves;                    ///< scratch of the coarse level's owners to landing places of the fine one's
  std::vector<parcel> parcels;   ///< `box` is coarse, `other` fine
  std::vector<parcel> landings;  ///< `other` fine, `slot` in the landing memory
};
interpolation_plan plan_interpolation(level const& coarse, level const& fine, arena& scratch, arena& landing);
std::ptrdiff_t interpolation_scratch(level const& coarse, level const& fine);
std::ptrdiff_t interpolation_landing(level const& coarse, level const& fine);

}  // namespace hpgmg
