#pragma once

/// What computes on the cells of a box.

#include <array>
#include <cstddef>
#include <vector>

#include "grid/box.hpp"

namespace hpgmg {

/// A dense or strided cube elsewhere.
struct strided_box {
  double* p;
  std::ptrdiff_t row;
  std::ptrdiff_t plane;
};

/// Operator A u = a*alpha*u - b*div(beta grad u) on one box.
struct coefficients {
  double const* alpha = nullptr;  ///< null: a is 0
  std::array<double const*, 3> beta{};
  double a = 0;
  double b_over_h2 = 0;
};

/// Loops over the cells of one box. One table for each operator and instruction set; all give the same bits.
/// Ghosts of u are right as far as the operator looks.
struct cell_loops {
  /// out = A u
  void (*apply)(box_layout const&, coefficients const&, double* out, double const* u);
  /// out = f - A u
  void (*residual)(box_layout const&, coefficients const&, double* out, double const* u, double const* f);
  /// out = u + D^-1 (f - A u) where i + j + k + parity is even, else u; out may be u where the operator only
  /// looks to the faces.
  void (*red_black)(box_layout const&, coefficients const&, double* out, double const* u, double const* f,
                    double const* inverse_diagonal, int parity);
  /// out = u + c1 (u - out) + c2 D^-1 (f - A u)
  void (*chebyshev)(box_layout const&, coefficients const&, double* out, double const* u, double const* f,
                    double const* inverse_diagonal, double c1, double c2);
};

enum class stencil { fv4, fv2, point7 };
enum class prolongation { constant, linear, quadratic, quartic };

/// All loops of an instruction set.
struct loop_tables {
  cell_loops fourth_order;
  cell_loops seven_points;
  /// out = mean of the 2^3 children; `out` has n/2 cells per dimension.
  void (*restrict_cells)(box_layout const& fine, double const* u, strided_box out);
  /// out = (add ? out : 0) + P u. `u` points at the first of count coarse cells per dimension.
  void (*prolongate)(prolongation order, box_layout const& coarse, double const* u, int count,
                     strided_box out, bool add);

  [[nodiscard]] cell_loops const& of(stencil op) const {
    return op == stencil::fv4 ? fourth_order : seven_points;
  }
};

/// All that this processor runs, the fastest last.
std::vector<loop_tables const*> runnable_loops();
/// The fastest.
loop_tables const& loops();

/// out = mean of the 4 fine faces of each coarse face, for a coefficient of direction d; one plane more along
/// d than n/2.
void restrict_faces(box_layout const& fine, int d, double const* beta, strided_box out);

}  // namespace hpgmg
