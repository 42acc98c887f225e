#pragma once

/// The loops over one row of cells: all the time of the plain back ends is spent here.

#include <cstdint>

#include "problem/cell.hpp"

namespace heat3d {

/// One row along x of a block, its four neighbouring rows, and what lies beyond its two ends. Where the row
/// lies on the outer surface the missing row is the row itself (see cell.hpp). Rows of halo buffers are
/// contiguous along x as well, so it makes no difference where a neighbouring row lives.
struct row {
  double const* center;  ///< the row's cells; valid from 0 to length - 1
  double const* y_low;
  double const* y_high;
  double const* z_low;
  double const* z_high;
  double const* x_low;   ///< the value at x = -1, null on the outer surface
  double const* x_high;  ///< the value at x = length, null on the outer surface
  double* out;           ///< rate or new field, at x = 0
  std::int64_t length;   ///< cells in the whole row
  std::int64_t begin;    ///< first cell to compute
  std::int64_t end;      ///< one past the last cell to compute
  int exposed;           ///< faces of each cell in y and z on the outer surface
  bool heated;           ///< the row begins on the heated face
};

/// What a sweep adds up on its way.
struct row_sums {
  double field = 0;     ///< sum of the cells before their update
  double radiated = 0;  ///< sum of exposed faces times fourth power
};

/// Writes the rates of the row's cells [begin, end) to `out`. Only `radiated` is summed.
row_sums rate_row(row const& r, coefficients const& k);
/// Writes the advanced cells [begin, end) to `out`, which must not be the row itself.
/// Only `radiated` is summed.
row_sums advance_row(row const& r, coefficients const& k);
/// As advance_row(), and sums the field too.
row_sums advance_and_sum_row(row const& r, coefficients const& k);

/// field += dt * rate on `n` contiguous cells.
void update_run(double* field, double const* rate, std::int64_t n, double dt);
/// As update_run(); returns the sum of the field before the update.
double update_and_sum_run(double* field, double const* rate, std::int64_t n, double dt);
/// Sum of `n` contiguous values.
double sum_run(double const* values, std::int64_t n);

}  // namespace heat3d
