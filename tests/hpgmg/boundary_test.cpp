// Ghosts beyond the domain, against products of the one-dimensional formulas over the whole grid.

#include "solver/boundary.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "local_ranks.hpp"

namespace hpgmg {
namespace {

using weights = std::vector<double>;

/// Weights of the cells from the wall on, for a layer outside.
weights formula(extrapolation order, int n, int layer) {
  if (order == extrapolation::quartic && n < 4) order = extrapolation::quadratic;
  if (order == extrapolation::quadratic && n < 2) order = extrapolation::linear;
  if (order == extrapolation::quartic) {
    return layer == 1 ? weights{-77. / 12, 43. / 12, -17. / 12, 3. / 12}
                      : weights{-505. / 12, 335. / 12, -145. / 12, 27. / 12};
  }
  if (layer > 1) return {0};
  return order == extrapolation::quadratic ? weights{-2.5, 0.5} : weights{-1};
}

double inside(box_index at) { return std::sin(1.0 + at[0] + 3.1 * at[1] + 7.7 * at[2]); }

/// The value of any cell, from those in the domain.
double extended(box_index at, extrapolation order, int n, int cells, std::size_t d = 0) {
  if (d == 3) return inside(at);
  int const x = at[d];
  if (x >= 0 && x < cells) return extended(at, order, n, cells, d + 1);
  auto const w = formula(order, n, x < 0 ? -x : x - cells + 1);
  double sum = 0;
  for (int m = 0; m < static_cast<int>(w.size()); ++m) {
    at[d] = x < 0 ? m : cells - 1 - m;
    sum += w[static_cast<std::size_t>(m)] * extended(at, order, n, cells, d + 1);
  }
  return sum;
}

struct fill_case {
  int n;
  int boxes;
  int ghosts;
};

void expect_fill(fill_case const& c, extrapolation order, ghost_shape shape) {
  SCOPED_TRACE(testing::Message() << c.boxes << "^3 boxes of " << c.n << ", " << c.ghosts << " ghosts, order "
                                  << static_cast<int>(order) << ", shape " << static_cast<int>(shape));
  int const cells = c.n * c.boxes;
  local_rank rank;
  level l(rank, {cells, c.n, c.boxes, 1}, c.ghosts, false, box_order::morton, 2);
  // Vector 1; the ghosts of vector 0 before it must stay as they are.
  constexpr double untouched = 1e30;
  auto const for_all = [&](auto&& f) {
    for (auto const& own : l.boxes()) {
      box_index const first = l.first_cell(own);
      for (int k = -c.ghosts; k < c.n + c.ghosts; ++k) {
        for (int j = -c.ghosts; j < c.n + c.ghosts; ++j) {
          for (int i = -c.ghosts; i < c.n + c.ghosts; ++i) {
            int outside_box = 0;
            for (int const x : {i, j, k}) outside_box += x < 0 || x >= c.n ? 1 : 0;
            f(box_index{first[0] + i, first[1] + j, first[2] + k}, outside_box,
              l.cells(own, 0)[l.layout().at(i, j, k)], l.cells(own, 1)[l.layout().at(i, j, k)]);
          }
        }
      }
    }
  };
  for_all([&](box_index at, int outside_box, double& before, double& cell) {
    before = untouched;
    cell = outside_box == 0 ? inside(at) : untouched;
  });
  move_times ignored;
  local_mover(plan_exchange(l, shape)).run(l.vector_offset(1), l.vector_offset(1), false, ignored);
  fill_boundary(l, 1, order, shape);
  int const most = shape == ghost_shape::star ? 1 : shape == ghost_shape::no_corners ? 2 : 3;
  double error = 0;
  int touched = 0;
  for_all([&](box_index at, int outside_box, double before, double cell) {
    touched += before != untouched ? 1 : 0;
    if (outside_box > most) {
      touched += cell != untouched ? 1 : 0;
    } else {
      double const expected = extended(at, order, c.n, cells);
      error = std::max(error, std::abs(cell - expected) / (1 + std::abs(expected)));
    }
  });
  EXPECT_EQ(touched, 0);
  EXPECT_LT(error, 1e-12);
}

TEST(boundary, ghosts_are_products_of_the_formulas) {
  // Boxes in the middle of a wall have lateral ghosts that other boxes own.
  for (fill_case const c : {fill_case{1, 1, 1},
                            {1, 2, 1},
                            {1, 3, 1},
                            {2, 1, 1},
                            {2, 1, 2},
                            {2, 3, 2},
                            {3, 1, 2},
                            {3, 3, 1},
                            {4, 1, 2},
                            {4, 3, 2},
                            {5, 2, 2},
                            {8, 2, 1},
                            {8, 1, 2}}) {
    for (auto const order : {extrapolation::linear, extrapolation::quadratic, extrapolation::quartic}) {
      if (order == extrapolation::quartic && c.ghosts < 2) continue;
      for (auto const shape : {ghost_shape::box, ghost_shape::star, ghost_shape::no_corners})
        expect_fill(c, order, shape);
    }
  }
}

TEST(boundary, periodic_domains_have_none) {
  local_rank rank;
  level l(rank, {4, 4, 1, 1}, 2, true, box_order::morton, 1);
  fill_boundary(l, 0, extrapolation::quartic, ghost_shape::box);
  for (std::ptrdiff_t i = 0; i < l.layout().volume(); ++i) ASSERT_EQ(l.boxes()[0].memory[i], 0);
}

/// First layer of ghosts beside a wall, from the values nearest it.
TEST(boundary, face_coefficients_are_continued_along_their_faces) {
  struct {
    int n;
    weights w;
  } const cases[] = {{8, {5, -10, 10, -5, 1}},
                     {5, {5, -10, 10, -5, 1}},
                     {4, {4, -6, 4, -1}},
                     {3, {2, -1}},
                     {2, {2, -1}},
                     {1, {0}}};
  for (auto const& c : cases) {
    for (int const boxes : {1, 2}) {
      for (int normal = 0; normal < 3; ++normal) {
        local_rank rank;
        level l(rank, {c.n * boxes, c.n, boxes, 1}, 2, false, box_order::morton, vector_n);
        auto const value = [&](box_index at) { return inside({at[0] + 5 * normal, at[1], at[2]}); };
        auto const for_faces = [&](level::own_box const& own, auto&& f) {
          for (int k = 0; k < c.n + (normal == 2 ? 1 : 0); ++k) {
            for (int j = 0; j < c.n + (normal == 1 ? 1 : 0); ++j) {
              for (int i = 0; i < c.n + (normal == 0 ? 1 : 0); ++i) {
                box_index const first = l.first_cell(own);
                f(box_index{i, j, k}, box_index{first[0] + i, first[1] + j, first[2] + k});
              }
            }
          }
        };
        for (auto const& own : l.boxes()) {
          for_faces(own, [&](box_index at, box_index global) {
            l.cells(own, beta_i + normal)[l.layout().at(at[0], at[1], at[2])] = value(global);
          });
        }
        extrapolate_beta(l, normal);
        for (auto const& own : l.boxes()) {
          for_faces(own, [&](box_index at, box_index global) {
            for (std::size_t d = 0; d < 3; ++d) {
              if (static_cast<int>(d) == normal) continue;
              for (int const side : {-1, 1}) {
                if (global[d] != (side < 0 ? 0 : c.n * boxes - 1)) continue;
                double expected = 0;
                for (int m = 0; m < static_cast<int>(c.w.size()); ++m) {
                  box_index from = global;
                  from[d] -= side * m;
                  expected += c.w[static_cast<std::size_t>(m)] * value(from);
                }
                box_index ghost = at;
                ghost[d] += side;
                EXPECT_NEAR(l.cells(own, beta_i + normal)[l.layout().at(ghost[0], ghost[1], ghost[2])],
                            expected, 1e-13)
                    << c.n << " " << boxes << " normal " << normal << " d " << d;
              }
            }
          });
        }
      }
    }
  }
}

}  // namespace
}  // namespace hpgmg
