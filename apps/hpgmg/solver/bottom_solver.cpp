// The solver of the coarsest level.

#include <cmath>

#include "solver/multigrid_parts.hpp"

namespace hpgmg {

namespace {

constexpr double bottom_tolerance = 1e-3;

}  // namespace

// BiCGStab with the diagonal as right preconditioner (Saad, Iterative Methods, 7.7).
void multigrid::solve_bottom() {
  enum : int { r0 = vector_n, rr, p, s, q, w, t, z };
  int const l = level_n() - 1;
  level const& here = at(l);
  bool const shift = what_.periodic && !what_.helmholtz;
  auto const cells = [&](auto&& f) {
    for_cells(here, [&](auto const& own, std::ptrdiff_t x) {
      f([&](int vector) -> double& { return here.cells(own, vector)[x]; });
    });
  };
  residual(l, r0, u, r);
  if (shift) shift_to_zero_mean(l, r0);
  cells([](auto v) { v(rr) = v(p) = v(r0); });
  double rho = dot(l, rr, r0);
  double const norm = max_norm(l, rr);
  if (rho == 0 || norm == 0) return;
  for (int n = 0; n < 200; ++n) {
    ++bottom_iterations;
    cells([](auto v) { v(q) = v(inverse_diagonal) * v(p); });
    apply(l, w, q);
    double const wr0 = dot(l, w, r0);
    if (wr0 == 0) return;
    double const alpha_n = rho / wr0;
    if (std::isinf(alpha_n)) return;
    cells([&](auto v) {
      v(u) += alpha_n * v(q);
      v(s) = v(rr) - alpha_n * v(w);
    });
    if (shift) shift_to_zero_mean(l, s);
    double const norm_s = max_norm(l, s);
    // Without bound or not a number: so is u by now, as it should be.
    if (norm_s == 0 || norm_s < bottom_tolerance * norm || std::isinf(norm_s)) return;
    cells([](auto v) { v(t) = v(inverse_diagonal) * v(s); });
    apply(l, z, t);
    double const zz = dot(l, z, z);
    if (zz == 0) return;
    double const omega = dot(l, z, s) / zz;
    if (omega == 0 || std::isinf(omega)) return;
    cells([&](auto v) {
      v(u) += omega * v(t);
      v(rr) = v(s) - omega * v(z);
    });
    if (shift) shift_to_zero_mean(l, rr);
    double const norm_r = max_norm(l, rr);
    if (norm_r == 0 || norm_r < bottom_tolerance * norm) return;
    double const next = dot(l, rr, r0);
    if (next == 0) return;
    double const beta = (next / rho) * (alpha_n / omega);
    if (std::isinf(beta)) return;
    cells([&](auto v) { v(p) = v(rr) + beta * (v(p) - omega * v(w)); });
    rho = next;
  }
}

}  // namespace hpgmg
