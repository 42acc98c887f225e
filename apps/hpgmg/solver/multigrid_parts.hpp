#pragma once

/// What the files of the class multigrid share.

#include <cmath>
#include <cstdint>
#include <limits>

#include "solver/multigrid.hpp"

namespace hpgmg {

inline constexpr double b_coefficient = 1;

inline ghost_shape operator_shape(stencil op) {
  return op == stencil::fv4 ? ghost_shape::no_corners : ghost_shape::star;
}

/// The larger, where what is not a number is larger than all: comparisons and maxima of several ranks would
/// drop it, infinity survives them.
inline double larger(double most, double x) {
  if (x <= most) return most;
  return std::isnan(x) ? std::numeric_limits<double>::infinity() : x;
}

/// Of a level on a rank: fewer are done by one thread.
inline constexpr std::int64_t cells_worth_threads = 8192;
/// Whether so many boxes of n^3 cells are shared between threads.
inline bool worth_threads(std::int64_t boxes, std::int64_t n) {
  return boxes * n * n * n >= cells_worth_threads;
}

/// Calls f(offset of the row's first cell) for every row of a box.
template <class F>
void for_rows(box_layout const& b, F&& f) {
  for (int k = 0; k < b.n; ++k) {
    for (int j = 0; j < b.n; ++j) f(b.at(0, j, k));
  }
}

/// Everything that moves on a level, and between it and the next coarser one.
struct multigrid::transfers {
  std::array<std::unique_ptr<mover>, ghost_shape_n> exchange;
  ghost_shape last_exchange = ghost_shape::box;
  // From here on: null or empty on the bottom level.
  std::unique_ptr<arena> restriction_scratch;
  std::unique_ptr<arena> interpolation_scratch;
  std::unique_ptr<arena> landing;
  std::array<restriction_plan, 4> restriction;  ///< faces of each direction, cells
  std::array<std::unique_ptr<mover>, 4> restriction_mover;
  interpolation_plan interpolation;
  std::unique_ptr<mover> interpolation_mover;
};

template <class F>
void multigrid::for_cells(level const& l, F&& f) const {
  for (auto const& own : l.boxes()) {
    for_rows(l.layout(), [&](std::ptrdiff_t start) {
      for (std::ptrdiff_t x = start; x < start + l.layout().n; ++x) f(own, x);
    });
  }
}

}  // namespace hpgmg
