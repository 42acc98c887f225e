// The problem on the finest grid, and the operator on all.

#include <algorithm>
#include <cmath>

#include "solver/multigrid_parts.hpp"

namespace hpgmg {
namespace {

/// A row of the matrix: the entry on the diagonal, and the sum of those beside it.
struct row_sums {
  double diagonal = 0;
  double beside = 0;
};

/// Whether a cell's face of direction d is on the low or high end of the domain.
bool is_on_boundary(level const& l, level::own_box const& own, box_index cell, std::size_t d, int side) {
  return cell[d] == (side == 0 ? 0 : l.layout().n - 1) && own.at[d] == (side == 0 ? 0 : l.shape().boxes - 1);
}

/// Of div(beta grad u) with seven points, times h^2.
row_sums sums_of_row(level const& l, level::own_box const& own, box_index cell,
                     std::array<double const*, 3> const& beta) {
  box_layout const& b = l.layout();
  std::array<std::ptrdiff_t, 3> const step{1, b.row, b.plane};
  std::ptrdiff_t const x = b.at(cell[0], cell[1], cell[2]);
  row_sums sums;
  for (std::size_t d = 0; d < 3; ++d) {
    for (int const side : {0, 1}) {
      // u beyond a wall is -u of the cell.
      bool const wall = !l.periodic() && is_on_boundary(l, own, cell, d, side);
      double const through = beta[d][x + side * step[d]];
      sums.diagonal += through * ((wall ? 0 : 1) - 2);
      sums.beside += through * (wall ? 0 : 1);
    }
  }
  return sums;
}

/// Makes a vector 1 in the cells of a colour, which repeats every `colours` cells of each direction, else 0.
void paint(level const& l, level::own_box const& own, int vector, box_index colour, int colours) {
  int const n = l.layout().n;
  box_index const first = l.first_cell(own);
  auto const has_colour = [&](std::size_t d, int i) { return (first[d] + i + colour[d]) % colours == 0; };
  for (int k = 0; k < n; ++k) {
    for (int j = 0; j < n; ++j) {
      double* const row = l.cells(own, vector) + l.layout().at(0, j, k);
      bool const in = has_colour(1, j) && has_colour(2, k);
      for (int i = 0; i < n; ++i) row[i] = in && has_colour(0, i) ? 1 : 0;
    }
  }
}

}  // namespace

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
  fill_coefficient_ghosts(l);
  double bound = 0;
  if (members(l) != nullptr) {
    if (what_.op == stencil::point7) {
      add_up_faces(at(l));
    } else {
      add_up_colours(l);
    }
    bound = invert_diagonal(at(l));
  }
  levels_[static_cast<std::size_t>(l)]->largest_eigenvalue = ranks_.world().max(bound);
}

void multigrid::fill_coefficient_ghosts(int l) {
  level const& here = at(l);
  for (int d = 0; d < 3; ++d) {
    auto const faces = ranks_.make_mover(plan_exchange(here, ghost_shape::box, d), members(l));
    if (members(l) == nullptr) continue;
    if (what_.op == stencil::fv4) extrapolate_beta(here, d);
    move_times ignored;
    faces->run(here.vector_offset(beta_i + d), here.vector_offset(beta_i + d), false, ignored);
  }
}

void multigrid::add_up_faces(level const& here) {
  int const n = here.layout().n;
  for (auto const& own : here.boxes()) {
    auto const c = coefficients_of(here, own);
    for (int k = 0; k < n; ++k) {
      for (int j = 0; j < n; ++j) {
        for (int i = 0; i < n; ++i) {
          std::ptrdiff_t const x = here.layout().at(i, j, k);
          auto const [diagonal, beside] = sums_of_row(here, own, {i, j, k}, c.beta);
          here.cells(own, inverse_diagonal)[x] =
              (c.alpha != nullptr ? c.a * c.alpha[x] : 0) - c.b_over_h2 * diagonal;
          here.cells(own, work)[x] = std::abs(c.b_over_h2 * beside);
        }
      }
    }
  }
}

void multigrid::add_up_colours(int l) {
  level const& here = at(l);
  for_cells(here, [&](level::own_box const& own, std::ptrdiff_t x) {
    here.cells(own, inverse_diagonal)[x] = 0;
    here.cells(own, work)[x] = 0;
  });
  // Cells of one colour are so far apart that they do not see each other, but for the bound of small grids.
  int const colours = std::min(what_.op == stencil::fv4 ? 4 : 2, here.shape().cells);
  for (int colour = 0; colour < colours * colours * colours; ++colour) {
    for (auto const& own : here.boxes()) paint(here, own, u, box_at(colour, colours), colours);
    apply(l, temp, u);
    for_cells(here, [&](level::own_box const& own, std::ptrdiff_t x) {
      double const painted = here.cells(own, u)[x];
      double const applied = here.cells(own, temp)[x];
      here.cells(own, inverse_diagonal)[x] += painted * applied;
      here.cells(own, work)[x] += std::abs((1 - painted) * applied);
    });
  }
  for (auto const& own : here.boxes()) {
    for (int const v : {temp, u}) {
      std::fill_n(own.memory + here.vector_offset(v), here.layout().volume(), 0.0);
    }
  }
}

double multigrid::invert_diagonal(level const& here) {
  double bound = 0;
  for_cells(here, [&](level::own_box const& own, std::ptrdiff_t x) {
    double& diagonal = here.cells(own, inverse_diagonal)[x];
    bound = larger(bound, (diagonal + here.cells(own, work)[x]) / diagonal);
    diagonal = 1 / diagonal;
  });
  return bound;
}

}  // namespace hpgmg
