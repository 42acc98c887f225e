// Work on the cells of one level, or between two, and the communication that it needs.

#include <algorithm>

#include "solver/multigrid_parts.hpp"

namespace hpgmg {

namespace {

extrapolation operator_order(stencil op) {
  return op == stencil::fv4   ? extrapolation::quartic
         : op == stencil::fv2 ? extrapolation::quadratic
                              : extrapolation::linear;
}
extrapolation order_for(prolongation p) {
  return p == prolongation::quartic     ? extrapolation::quartic
         : p == prolongation::quadratic ? extrapolation::quadratic
                                        : extrapolation::linear;
}

}  // namespace

bool has_threads() {
#if defined(_OPENMP)
  return true;
#else
  return false;
#endif
}

// Communication

void multigrid::exchange(int l, int vector, ghost_shape shape) {
  auto& times = times_.levels[static_cast<std::size_t>(l)];
  timed const t(times, phase::exchange);
  auto& here = *transfers_[static_cast<std::size_t>(l)];
  std::ptrdiff_t const offset = at(l).vector_offset(vector);
  bool const disturbed = here.last_exchange != shape;
  here.last_exchange = shape;
  here.exchange[static_cast<std::size_t>(shape)]->run(offset, offset, disturbed, times.exchange);
}

void multigrid::exchange_and_fill(int l, int vector) {
  ghost_shape const shape = operator_shape(what_.op);
  exchange(l, vector, shape);
  timed const t(times_.levels[static_cast<std::size_t>(l)], phase::boundary);
  fill_boundary(at(l), vector, operator_order(what_.op), shape);
}

void multigrid::restrict_vector(int fine, int to, int from) {
  if (members(fine) == nullptr) return;
  level const& source = at(fine);
  level const& target = at(fine + 1);
  auto& times = times_.levels[static_cast<std::size_t>(fine)];
  auto& t = *transfers_[static_cast<std::size_t>(fine)];
  std::ptrdiff_t const half = source.layout().n / 2;
  {
    timed const scope(times, phase::restriction);
    for (parcel const& p : t.restriction[3].parcels) {
      double const* const cells = source.cells(source.boxes()[static_cast<std::size_t>(p.box)], from);
      if (p.other >= 0) {
        double* const there = target.cells(target.boxes()[static_cast<std::size_t>(p.other)], to) + p.at;
        loops().restrict_cells(source.layout(), cells, {there, target.layout().row, target.layout().plane});
      } else {
        loops().restrict_cells(source.layout(), cells,
                               {t.restriction_scratch->local + p.slot, half, half * half});
      }
    }
  }
  timed const scope(times, phase::restriction_moves);
  t.restriction_mover[3]->run(0, target.vector_offset(to), false, times.restriction);
}

void multigrid::interpolate(int fine, bool add, prolongation order) {
  if (members(fine) == nullptr) return;
  level const& target = at(fine);
  level const& source = at(fine + 1);
  auto& times = times_.levels[static_cast<std::size_t>(fine)];
  auto& t = *transfers_[static_cast<std::size_t>(fine)];
  if (order != prolongation::constant && members(fine + 1) != nullptr) {
    exchange(fine + 1, u, ghost_shape::box);
    timed const scope(times_.levels[static_cast<std::size_t>(fine + 1)], phase::boundary);
    fill_boundary(source, u, order_for(order), ghost_shape::box);
  }
  int const n = target.layout().n;
  std::ptrdiff_t const row = n;
  auto const all = [&](bool remote) {
    for (parcel const& p : t.interpolation.parcels) {
      if (remote != (p.other < 0)) continue;
      double const* const cells = source.cells(source.boxes()[static_cast<std::size_t>(p.box)], u) + p.at;
      if (remote) {
        loops().prolongate(order, source.layout(), cells, n / 2,
                           {t.interpolation_scratch->local + p.slot, row, row * row}, false);
      } else {
        double* const there = target.cells(target.boxes()[static_cast<std::size_t>(p.other)], u);
        loops().prolongate(order, source.layout(), cells, n / 2,
                           {there, target.layout().row, target.layout().plane}, add);
      }
    }
  };
  {
    timed const scope(times, phase::interpolation);
    all(true);
    all(false);
  }
  {
    timed const scope(times, phase::interpolation_moves);
    t.interpolation_mover->run(0, 0, false, times.interpolation);
  }
  timed const scope(times, phase::interpolation);
  for (parcel const& p : t.interpolation.landings) {
    double* const there = target.cells(target.boxes()[static_cast<std::size_t>(p.other)], u);
    double const* from = t.landing->local + p.slot;
    for_rows(target.layout(), [&](std::ptrdiff_t start) {
      for (int i = 0; i < n; ++i) there[start + i] = (add ? there[start + i] : 0) + from[i];
      from += n;
    });
  }
}

// Work on one level

/// Planes of a box that one thread works on.
struct multigrid::slab {
  level const& on;
  level::own_box const& own;
  box_layout layout;
  std::ptrdiff_t begin;  ///< from the box's first plane to the first of these
  coefficients operator_here;
  int first_parity;  ///< of the sum of the first cell's indices

  slab(multigrid const& m, level const& l, level::own_box const& box, int first, int planes)
      : on(l),
        own(box),
        layout(l.layout()),
        begin(first * layout.plane),
        operator_here(m.coefficients_of(l, box)) {
    layout.planes = planes;
    for (double const*& beta : operator_here.beta) beta += begin;
    if (operator_here.alpha != nullptr) operator_here.alpha += begin;
    box_index const cell = l.first_cell(box);
    first_parity = (cell[0] + cell[1] + cell[2] + first) & 1;
  }
  [[nodiscard]] double* cells(int vector) const { return on.cells(own, vector) + begin; }
};

template <class F>
void multigrid::for_slabs(int l, F&& f) const {
  level const& here = at(l);
  int const n = here.layout().n;
  int const boxes = static_cast<int>(here.boxes().size());
  bool const alone = what_.threads == 1 || !worth_threads(boxes, n);
  int const parts = alone ? 1 : std::min(n, what_.threads);
  auto const part = [&](int which) {
    int const first = n * (which % parts) / parts;
    f(slab(*this, here, here.boxes()[static_cast<std::size_t>(which / parts)], first,
           n * (which % parts + 1) / parts - first));
  };
#if defined(_OPENMP)
  if (!alone) {
#pragma omp parallel for num_threads(what_.threads) schedule(static)
    for (int which = 0; which < boxes * parts; ++which) part(which);
    return;
  }
#endif
  for (int which = 0; which < boxes * parts; ++which) part(which);
}

void multigrid::apply(int l, int out, int in) {
  exchange_and_fill(l, in);
  timed const t(times_.levels[static_cast<std::size_t>(l)], phase::apply);
  for_slabs(l, [&](slab const& x) { loops_.apply(x.layout, x.operator_here, x.cells(out), x.cells(in)); });
}

void multigrid::residual(int l, int out, int in, int right) {
  exchange_and_fill(l, in);
  timed const t(times_.levels[static_cast<std::size_t>(l)], phase::residual);
  for_slabs(l, [&](slab const& x) {
    loops_.residual(x.layout, x.operator_here, x.cells(out), x.cells(in), x.cells(right));
  });
}

void multigrid::smooth(int l, int solution, int right) {
  level const& here = at(l);
  bool const chebyshev = what_.smooth == smoother::chebyshev;
  // Where cells of one colour see each other, or a sweep needs the vector before, two vectors alternate; also
  // where threads would store to cells that others load, if only what is there.
  bool const in_place = !chebyshev && what_.op != stencil::fv4 && what_.threads == 1;
  int const sweeps = what_.op == stencil::point7 ? 4 : 6;
  double const high = here.largest_eigenvalue;
  double const low = 0.125 * high;
  double const theta = (high + low) / 2;
  double const delta = (high - low) / 2;
  double const sigma = theta / delta;
  double rho = 1 / sigma;
  double c1 = 0;
  double c2 = 1 / theta;
  for (int s = 0; s < sweeps; ++s) {
    int const in = in_place || s % 2 == 0 ? solution : temp;
    int const out = in_place ? solution : s % 2 == 0 ? temp : solution;
    exchange_and_fill(l, in);
    if (s > 0) {
      double const next = 1 / (2 * sigma - rho);
      c1 = next * rho;
      c2 = next * 2 / delta;
      rho = next;
    }
    timed const t(times_.levels[static_cast<std::size_t>(l)], phase::smooth);
    for_slabs(l, [&](slab const& x) {
      if (chebyshev) {
        loops_.chebyshev(x.layout, x.operator_here, x.cells(out), x.cells(in), x.cells(right),
                         x.cells(inverse_diagonal), c1, c2);
      } else {
        loops_.red_black(x.layout, x.operator_here, x.cells(out), x.cells(in), x.cells(right),
                         x.cells(inverse_diagonal), (x.first_parity + s) & 1);
      }
    });
  }
}

}  // namespace hpgmg
