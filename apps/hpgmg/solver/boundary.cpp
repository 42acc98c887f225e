#include "solver/boundary.hpp"

#ifdef __clang__  // which knows no ivdep: it checks for overlaps when the loop runs
#pragma clang diagnostic ignored "-Wunknown-pragmas"
#endif

namespace hpgmg {
namespace {

/// Values of up to two ghost layers from those inside, for `count` cells beside each other at the wall. `in`
/// steps from the wall into the domain.
template <extrapolation Order, int Layers>
[[gnu::always_inline]] inline void ghosts(double* wall, std::ptrdiff_t in, int count, std::ptrdiff_t step) {
#pragma GCC ivdep
  for (int i = 0; i < count; ++i) {
    double* const x = wall + i * step;
    if constexpr (Order == extrapolation::linear) {
      x[-in] = -x[0];
      if constexpr (Layers > 1) x[-2 * in] = 0;
    } else if constexpr (Order == extrapolation::quadratic) {
      x[-in] = -2.5 * x[0] + 0.5 * x[in];
      if constexpr (Layers > 1) x[-2 * in] = 0;
    } else {
      double const x1 = x[0];
      double const x2 = x[in];
      double const x3 = x[2 * in];
      double const x4 = x[3 * in];
      x[-in] = (-77 * x1 + 43 * x2 - 17 * x3 + 3 * x4) * (1.0 / 12);
      x[-2 * in] = (-505 * x1 + 335 * x2 - 145 * x3 + 27 * x4) * (1.0 / 12);
    }
  }
}

/// Ghosts of one box. Directions are done in turn; what a later one reads in the ghosts of an earlier one has
/// been filled then, so that edges and corners become products of the one-dimensional formulas.
template <extrapolation Order, int Layers>
void fill(level const& l, level::own_box const& own, double* cells, ghost_shape shape) {
  box_layout const& b = l.layout();
  std::array<std::ptrdiff_t, 3> const step{1, b.row, b.plane};
  int const most_ghost_directions = shape == ghost_shape::star ? 1 : shape == ghost_shape::no_corners ? 2 : 3;
  auto const outside = [&](std::size_t d, int side) {
    return side < 0 ? own.at[d] == 0 : side > 0 && own.at[d] == l.shape().boxes - 1;
  };
  for (std::size_t d = 0; d < 3; ++d) {
    // The other two, the inner loop first.
    std::size_t const s = d == 0 ? 1 : 0;
    std::size_t const t = d == 2 ? 1 : 2;
    for (int const side : {-1, 1}) {
      if (!outside(d, side)) continue;
      double* const wall = cells + (side > 0 ? (b.n - 1) * step[d] : 0);
      std::ptrdiff_t const in = -side * step[d];
      for (int t_side = -1; t_side <= 1; ++t_side) {
        if (t > d && outside(t, t_side)) continue;  // not there yet
        for (int s_side = -1; s_side <= 1; ++s_side) {
          if (s > d && outside(s, s_side)) continue;
          if (1 + (s_side != 0) + (t_side != 0) > most_ghost_directions) continue;
          auto const first = [&](int at) { return at < 0 ? -b.ghost : at > 0 ? b.n : 0; };
          auto const count = [&](int at) { return at == 0 ? b.n : b.ghost; };
          for (int y = first(t_side); y < first(t_side) + count(t_side); ++y) {
            double* const row = wall + y * step[t] + first(s_side) * step[s];
            // The constant step makes vectors of it.
            if (s == 0) {
              ghosts<Order, Layers>(row, in, count(s_side), 1);
            } else {
              ghosts<Order, Layers>(row, in, count(s_side), step[s]);
            }
          }
        }
      }
    }
  }
}

}  // namespace

void fill_boundary(level const& l, int vector, extrapolation order, ghost_shape shape) {
  if (l.periodic()) return;
  if (order == extrapolation::quartic && l.layout().n < 4) order = extrapolation::quadratic;
  if (order == extrapolation::quadratic && l.layout().n < 2) order = extrapolation::linear;
  box_layout const& b = l.layout();
  for (auto const& own : l.boxes()) {
    bool inner = true;
    for (int const at : own.at) inner = inner && at > 0 && at < l.shape().boxes - 1;
    if (inner) continue;
    double* const cells = l.cells(own, vector);
    switch (order) {
      case extrapolation::linear:
        b.ghost == 1 ? fill<extrapolation::linear, 1>(l, own, cells, shape)
                     : fill<extrapolation::linear, 2>(l, own, cells, shape);
        break;
      case extrapolation::quadratic:
        b.ghost == 1 ? fill<extrapolation::quadratic, 1>(l, own, cells, shape)
                     : fill<extrapolation::quadratic, 2>(l, own, cells, shape);
        break;
      case extrapolation::quartic:
        fill<extrapolation::quartic, 2>(l, own, cells, shape);
        break;
    }
  }
}

void extrapolate_beta(level const& l, int normal) {
  box_layout const& b = l.layout();
  if (l.periodic() || b.n == 1) return;
  std::array<std::ptrdiff_t, 3> const step{1, b.row, b.plane};
  for (auto const& own : l.boxes()) {
    double* const beta = l.cells(own, beta_i + normal);
    for (int d = 0; d < 3; ++d) {
      if (d == normal) continue;
      int const other = 3 - d - normal;
      for (int const side : {-1, 1}) {
        if (own.at[static_cast<std::size_t>(d)] != (side < 0 ? 0 : l.shape().boxes - 1)) continue;
        std::ptrdiff_t const in = -side * step[static_cast<std::size_t>(d)];
        double* const wall = beta + (side > 0 ? (b.n - 1) * step[static_cast<std::size_t>(d)] : 0);
        for (int y = 0; y < b.n; ++y) {
          for (int x = 0; x <= b.n; ++x) {
            double* const p =
                wall + y * step[static_cast<std::size_t>(other)] + x * step[static_cast<std::size_t>(normal)];
            if (b.n >= 5) {
              p[-in] = 5 * p[0] - 10 * p[in] + 10 * p[2 * in] - 5 * p[3 * in] + p[4 * in];
            } else if (b.n == 4) {
              p[-in] = 4 * p[0] - 6 * p[in] + 4 * p[2 * in] - p[3 * in];
            } else {
              p[-in] = 2 * p[0] - p[in];
            }
          }
        }
      }
    }
  }
}

}  // namespace hpgmg
