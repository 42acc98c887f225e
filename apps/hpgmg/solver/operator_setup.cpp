// The problem on the finest grid, and the operator on all.

#include <algorithm>
#include <cmath>

#include "solver/multigrid_parts.hpp"

namespace hpgmg {

void multigrid::build_finest() {
  level const& l = at(0);
  int const n = l.layout().n;
  double const h = l.h();
  for (auto const& own : l.boxes()) {
    box_index const first = l.first_cell(own);
    for (int k = 0; k <= n; ++k) {
      for (int j = 0; j <= n; ++j) {
        for (int i = 0; i <= n; ++i) {
          std::ptrdiff_t const x = l.layout().at(i, j, k);
          position const centre{(first[0] + i + 0.5) * h, (first[1] + j + 0.5) * h, (first[2] + k + 0.5) * h};
          l.cells(own, beta_i)[x] = beta_at(what_.kind(), {centre.x - h / 2, centre.y, centre.z}, h);
          l.cells(own, beta_j)[x] = beta_at(what_.kind(), {centre.x, centre.y - h / 2, centre.z}, h);
          l.cells(own, beta_k)[x] = beta_at(what_.kind(), {centre.x, centre.y, centre.z - h / 2}, h);
          if (i == n || j == n || k == n) continue;
          l.cells(own, f)[x] =
              right_hand_side(what_.kind(), centre, h, what_.a(), b_coefficient, what_.periodic);
          l.cells(own, alpha)[x] = 1;
        }
      }
    }
  }
  if (what_.periodic) shift_to_zero_mean(0, f);
}

void multigrid::restrict_operator(int coarse) {
  for (int d = 0; d < 3; ++d) restrict_faces_to(coarse, d);
  if (what_.helmholtz) restrict_vector(coarse - 1, alpha, alpha);
}

void multigrid::restrict_faces_to(int coarse, int d) {
  level const& from = at(coarse - 1);
  level const& to = at(coarse);
  if (members(coarse - 1) == nullptr) return;
  auto& t = *transfers_[static_cast<std::size_t>(coarse - 1)];
  auto const which = static_cast<std::size_t>(d);
  std::ptrdiff_t const half = from.layout().n / 2;
  for (parcel const& p : t.restriction[which].parcels) {
    auto const& own = from.boxes()[static_cast<std::size_t>(p.box)];
    double const* const beta = from.cells(own, beta_i + d);
    if (p.other >= 0) {
      double* const there = to.cells(to.boxes()[static_cast<std::size_t>(p.other)], beta_i + d) + p.at;
      restrict_faces(from.layout(), d, beta, {there, to.layout().row, to.layout().plane});
    } else {
      std::ptrdiff_t const row = half + (d == 0 ? 1 : 0);
      restrict_faces(from.layout(), d, beta,
                     {t.restriction_scratch->local + p.slot, row, row * (half + (d == 1 ? 1 : 0))});
    }
  }
  t.restriction_mover[which]->run(0, to.vector_offset(beta_i + d), false,
                                  times_.levels[static_cast<std::size_t>(coarse - 1)].restriction);
}

void multigrid::finish_operator(int l) {
  level& here = *levels_[static_cast<std::size_t>(l)];
  double bound = 0;
  for (int d = 0; d < 3; ++d) {
    auto const faces = ranks_.make_mover(plan_exchange(here, ghost_shape::box, d), members(l));
    if (members(l) == nullptr) continue;
    if (what_.op == stencil::fv4) extrapolate_beta(here, d);
    move_times ignored;
    faces->run(here.vector_offset(beta_i + d), here.vector_offset(beta_i + d), false, ignored);
  }
  if (members(l) != nullptr) {
    // A_ii is summed up in inverse_diagonal, what is beside it in `work`.
    if (what_.op == stencil::point7) {
      box_layout const& b = here.layout();
      std::array<std::ptrdiff_t, 3> const step{1, b.row, b.plane};
      for (auto const& own : here.boxes()) {
        auto const c = coefficients_of(here, own);
        for (int k = 0; k < b.n; ++k) {
          for (int j = 0; j < b.n; ++j) {
            for (int i = 0; i < b.n; ++i) {
              std::array<int, 3> const cell{i, j, k};
              std::ptrdiff_t const x = b.at(i, j, k);
              double diagonal = 0;
              double beside = 0;
              for (std::size_t d = 0; d < 3; ++d) {
                for (int const side : {0, 1}) {
                  bool const wall = !what_.periodic && cell[d] == (side == 0 ? 0 : b.n - 1) &&
                                    own.at[d] == (side == 0 ? 0 : here.shape().boxes - 1);
                  double const beta = c.beta[d][x + side * step[d]];
                  diagonal += beta * ((wall ? 0 : 1) - 2);
                  beside += beta * (wall ? 0 : 1);
                }
              }
              here.cells(own, inverse_diagonal)[x] =
                  (c.alpha != nullptr ? c.a * c.alpha[x] : 0) - c.b_over_h2 * diagonal;
              here.cells(own, work)[x] = std::abs(c.b_over_h2 * beside);
            }
          }
        }
      }
    } else {
      // A applied to cells so far apart that they do not see each other, but for the bound of small grids.
      int const colours = std::min(what_.op == stencil::fv4 ? 4 : 2, here.shape().cells);
      for (auto const& own : here.boxes()) {
        for_rows(here.layout(), [&](std::ptrdiff_t x) {
          std::fill_n(here.cells(own, inverse_diagonal) + x, here.layout().n, 0.0);
          std::fill_n(here.cells(own, work) + x, here.layout().n, 0.0);
        });
      }
      for (int colour = 0; colour < colours * colours * colours; ++colour) {
        box_index const c = box_at(colour, colours);
        for (auto const& own : here.boxes()) {
          box_index const first = here.first_cell(own);
          for (int k = 0; k < here.layout().n; ++k) {
            for (int j = 0; j < here.layout().n; ++j) {
              double* const row = here.cells(own, u) + here.layout().at(0, j, k);
              bool const in = (first[1] + j + c[1]) % colours == 0 && (first[2] + k + c[2]) % colours == 0;
              for (int i = 0; i < here.layout().n; ++i)
                row[i] = in && (first[0] + i + c[0]) % colours == 0 ? 1 : 0;
            }
          }
        }
        apply(l, temp, u);
        for (auto const& own : here.boxes()) {
          double const* const x = here.cells(own, u);
          double const* const ax = here.cells(own, temp);
          for_rows(here.layout(), [&](std::ptrdiff_t start) {
            for (std::ptrdiff_t i = start; i < start + here.layout().n; ++i) {
              here.cells(own, inverse_diagonal)[i] += x[i] * ax[i];
              here.cells(own, work)[i] += std::abs((1 - x[i]) * ax[i]);
            }
          });
        }
      }
      for (auto const& own : here.boxes()) {
        for (int const v : {temp, u})
          std::fill_n(own.memory + here.vector_offset(v), here.layout().volume(), 0.0);
      }
    }
    for (auto const& own : here.boxes()) {
      double* const diagonal = here.cells(own, inverse_diagonal);
      for_rows(here.layout(), [&](std::ptrdiff_t start) {
        for (std::ptrdiff_t i = start; i < start + here.layout().n; ++i) {
          bound = std::max(bound, (diagonal[i] + here.cells(own, work)[i]) / diagonal[i]);
          diagonal[i] = 1 / diagonal[i];
        }
      });
    }
  }
  here.largest_eigenvalue = ranks_.world().max(bound);
}

}  // namespace hpgmg
