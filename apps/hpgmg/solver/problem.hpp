#pragma once

/// The equations: coefficients and right-hand sides at points of the unit cube.

namespace hpgmg {

/// What each discretisation solves. volume: averages over cells and faces, fourth order;
/// point: values at points.
enum class problem_kind { volume, point };

struct position {
  double x, y, z;
};

/// Coefficient at the centre of a face; an average over the face of side h
/// for `volume`.
double beta_at(problem_kind kind, position face_centre, double h);

/// Right-hand side of a*u - b*div(beta grad u) = f at the centre of a cell of side h.
double right_hand_side(problem_kind kind, position cell_centre, double h, double a, double b, bool periodic);

}  // namespace hpgmg
