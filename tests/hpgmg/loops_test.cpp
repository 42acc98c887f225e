// The loops over cells of a box, by themselves.

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "solver/loops.hpp"

namespace hpgmg {
namespace {

std::vector<double> random_vector(box_layout const& b, unsigned seed) {
  std::mt19937 bits(seed);
  std::vector<double> v(static_cast<std::size_t>(b.volume()));
  for (double& x : v) x = 0.5 + std::generate_canonical<double, 53>(bits);
  return v;
}

/// All results of an instruction set on a box, one behind the other.
std::vector<double> everything(loop_tables const& set, box_layout const& b, stencil op, bool helmholtz) {
  auto const u = random_vector(b, 1);
  auto const f = random_vector(b, 2);
  auto const d = random_vector(b, 3);
  auto const alpha = random_vector(b, 4);
  std::vector<double> const beta[3] = {random_vector(b, 5), random_vector(b, 6), random_vector(b, 7)};
  coefficients c;
  c.a = helmholtz ? 1.5 : 0;
  c.alpha = helmholtz ? alpha.data() + b.origin() : nullptr;
  for (std::size_t t = 0; t < 3; ++t) c.beta[t] = beta[t].data() + b.origin();
  c.b_over_h2 = 1024.0 / 3;
  std::vector<double> results;
  auto const keep = [&](auto&& compute) {
    auto out = random_vector(b, 8);
    compute(out.data() + b.origin());
    results.insert(results.end(), out.begin(), out.end());
  };
  auto const& loops = set.of(op);
  double const* const x = u.data() + b.origin();
  double const* const rhs = f.data() + b.origin();
  double const* const inverse = d.data() + b.origin();
  keep([&](double* out) { loops.apply(b, c, out, x); });
  keep([&](double* out) { loops.residual(b, c, out, x, rhs); });
  keep([&](double* out) { loops.chebyshev(b, c, out, x, rhs, inverse, 0.3, 0.7); });
  for (int const parity : {0, 1}) {
    keep([&](double* out) { loops.red_black(b, c, out, x, rhs, inverse, parity); });
    if (op != stencil::fv4) keep([&](double* out) { loops.red_black(b, c, out, out, rhs, inverse, parity); });
  }
  if (b.n % 2 == 0) keep([&](double* out) { set.restrict_cells(b, x, {out, b.row, b.plane}); });
  for (auto const order :
       {prolongation::constant, prolongation::linear, prolongation::quadratic, prolongation::quartic}) {
    int const reach = order == prolongation::constant ? 0 : order == prolongation::quartic ? 2 : 1;
    if (reach > b.ghost) continue;
    for (bool const add : {false, true}) {
      std::vector<double> fine(static_cast<std::size_t>(8 * b.n * b.n * b.n), 0.25);
      set.prolongate(order, b, x, b.n, {fine.data(), 2 * b.n, 4 * b.n * b.n}, add);
      results.insert(results.end(), fine.begin(), fine.end());
    }
  }
  return results;
}

TEST(loops, all_instruction_sets_give_the_same_bits) {
  auto const sets = runnable_loops();
  ASSERT_FALSE(sets.empty());
  EXPECT_EQ(sets.back(), &loops());
  for (int const n : {1, 2, 3, 4, 8, 13, 16, 32}) {
    for (bool const helmholtz : {false, true}) {
      for (auto const op : {stencil::fv4, stencil::fv2}) {
        box_layout const b(n, op == stencil::fv4 ? 2 : 1);
        auto const expected = everything(*sets.front(), b, op, helmholtz);
        for (auto const* set : sets) EXPECT_EQ(everything(*set, b, op, helmholtz), expected) << "n = " << n;
      }
    }
  }
}

/// Mean of x^p between two points.
double mean_power(int p, double low, double high) {
  return (std::pow(high, p + 1) - std::pow(low, p + 1)) / ((p + 1) * (high - low));
}

/// Cell averages of x^p y^q z^r on cells of side h, ghosts included.
std::vector<double> averages(box_layout const& b, std::array<int, 3> powers, double h) {
  std::vector<double> v(static_cast<std::size_t>(b.volume()));
  auto const along = [&](int d, int i) {
    return mean_power(powers[static_cast<std::size_t>(d)], i * h, (i + 1) * h);
  };
  for (int k = -b.ghost; k < b.n + b.ghost; ++k) {
    for (int j = -b.ghost; j < b.n + b.ghost; ++j) {
      for (int i = -b.ghost; i < b.n + b.ghost; ++i)
        v[static_cast<std::size_t>(b.origin() + b.at(i, j, k))] = along(0, i) * along(1, j) * along(2, k);
    }
  }
  return v;
}

TEST(loops, restriction_takes_averages_to_averages) {
  box_layout const fine(8, 1);
  box_layout const coarse(4, 1);
  for (std::array<int, 3> const powers : {std::array{0, 0, 0}, {1, 2, 3}, {5, 0, 1}}) {
    auto const from = averages(fine, powers, 0.5);
    auto const expected = averages(coarse, powers, 1);
    auto to = expected;
    std::fill(to.begin(), to.end(), -1.0);
    loops().restrict_cells(fine, from.data() + fine.origin(),
                           {to.data() + coarse.origin(), coarse.row, coarse.plane});
    for (int k = 0; k < 4; ++k) {
      for (int j = 0; j < 4; ++j) {
        for (int i = 0; i < 4; ++i) {
          auto const x = static_cast<std::size_t>(coarse.origin() + coarse.at(i, j, k));
          EXPECT_NEAR(to[x], expected[x], 1e-13 * (1 + expected[x]));
        }
      }
    }
  }
}

TEST(loops, restriction_of_faces_is_their_mean) {
  box_layout const fine(4, 1);
  auto const beta = random_vector(fine, 9);
  for (int d = 0; d < 3; ++d) {
    int extent[3] = {2, 2, 2};
    ++extent[d];
    double out[27];
    restrict_faces(fine, d, beta.data() + fine.origin(), {out, extent[0], extent[0] * extent[1]});
    for (int k = 0; k < extent[2]; ++k) {
      for (int j = 0; j < extent[1]; ++j) {
        for (int i = 0; i < extent[0]; ++i) {
          double sum = 0;
          for (int s : {0, 1}) {
            for (int t : {0, 1}) {
              int at[3] = {2 * i, 2 * j, 2 * k};
              at[(d + 1) % 3] += s;
              at[(d + 2) % 3] += t;
              sum += beta[static_cast<std::size_t>(fine.origin() + fine.at(at[0], at[1], at[2]))];
            }
          }
          EXPECT_NEAR(out[i + extent[0] * (j + extent[1] * k)], sum / 4, 1e-15);
        }
      }
    }
  }
}

TEST(loops, prolongations_reproduce_the_polynomials_of_their_order) {
  // The linear one interpolates values at centres; the others averages, up to the power that they
  // are exact for.
  struct {
    prolongation order;
    int power;
  } const cases[] = {{prolongation::constant, 0},
                     {prolongation::linear, 1},
                     {prolongation::quadratic, 2},
                     {prolongation::quartic, 4}};
  box_layout const coarse(4, 2);
  box_layout const fine(8, 2);
  for (auto const& c : cases) {
    for (int power = 0; power <= c.power + 1; ++power) {
      for (std::size_t d = 0; d < 3; ++d) {
        std::array<int, 3> powers{};
        powers[d] = power;
        auto const from = averages(coarse, powers, 1);
        auto const expected = averages(fine, powers, 0.5);
        std::vector<double> to(8 * 8 * 8);
        // In two halves, as for a box that two fine boxes take from.
        for (int half = 0; half < 8; ++half) {
          int const i = half % 2 * 2;
          int const j = half / 2 % 2 * 2;
          int const k = half / 4 * 2;
          loops().prolongate(c.order, coarse, from.data() + coarse.origin() + coarse.at(i, j, k), 2,
                             {to.data() + 2 * i + 8 * 2 * j + 64 * 2 * k, 8, 64}, false);
        }
        double error = 0;
        for (int x = 0; x < 512; ++x) {
          error = std::max(
              error,
              std::abs(
                  to[static_cast<std::size_t>(x)] -
                  expected[static_cast<std::size_t>(fine.origin() + fine.at(x % 8, x / 8 % 8, x / 64))]));
        }
        if (power <= c.power) {
          EXPECT_LT(error, 1e-12) << "order " << static_cast<int>(c.order) << " power " << power;
        } else {
          EXPECT_GT(error, 1e-3) << "order " << static_cast<int>(c.order) << " is better than it can be";
        }
      }
    }
  }
}

}  // namespace
}  // namespace hpgmg
