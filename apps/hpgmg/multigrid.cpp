#include "multigrid.hpp"

#include <algorithm>
#include <cmath>

namespace hpgmg {
namespace {

constexpr double b_coefficient = 1;
constexpr double bottom_tolerance = 1e-3;
constexpr double enough = 1e-10;  ///< share of f at which repeated V-cycles end
constexpr int most_cycles = 20;
/// Of a level on a rank: fewer are done by one thread.
constexpr int cells_worth_threads = 8192;

ghost_shape operator_shape(stencil op) {
  return op == stencil::fv4 ? ghost_shape::no_corners : ghost_shape::star;
}
extrapolation operator_order(stencil op) {
  return op == stencil::fv4   ? extrapolation::quartic
         : op == stencil::fv2 ? extrapolation::quadratic
                              : extrapolation::linear;
}
prolongation v_cycle_order(stencil op) {
  return op == stencil::point7 ? prolongation::constant : prolongation::quadratic;
}
prolongation f_cycle_order(stencil op) {
  return op == stencil::fv4   ? prolongation::quartic
         : op == stencil::fv2 ? prolongation::quadratic
                              : prolongation::linear;
}
extrapolation order_for(prolongation p) {
  return p == prolongation::quartic     ? extrapolation::quartic
         : p == prolongation::quadratic ? extrapolation::quadratic
                                        : extrapolation::linear;
}

/// Calls f(offset of the row's first cell) for every row of a box.
template <class F>
void for_rows(box_layout const& b, F&& f) {
  for (int k = 0; k < b.n; ++k) {
    for (int j = 0; j < b.n; ++j) f(b.at(0, j, k));
  }
}

}  // namespace

/// Everything that moves on a level, and between it and the next coarser one.
struct multigrid::transfers {
  std::array<std::unique_ptr<mover>, ghost_shape_n> exchange;
  ghost_shape last_exchange = ghost_shape::box;
  // From here on: null or empty on the bottom level.
  std::unique_ptr<arena> restriction_scratch;
  std::unique_ptr<arena> interpolation_scratch;
  std::unique_ptr<arena> landing;
  std::array<restriction_plan, 4> restriction;  ///< faces of each direction, cells
  std::array<std::unique_ptr<mover>, 4> restriction_mover;
  interpolation_plan interpolation;
  std::unique_ptr<mover> interpolation_mover;
};

multigrid::multigrid(problem const& what, runtime& ranks)
    : what_(what), ranks_(ranks), loops_(loops().of(what.op)) {
  int const box = 1 << what.log2_box;
  int const boxes = boxes_per_side(box, what.boxes_per_rank, ranks.size());
  auto const shapes = plan_levels({boxes * box, box, boxes, ranks.size()}, what.radius(), what.periodic);
  for (grid_shape const& shape : shapes) {
    bool const bottom = &shape == &shapes.back();
    levels_.push_back(std::make_unique<level>(ranks, shape, what.radius(), what.periodic, what.order,
                                              vector_n + (bottom ? bottom_vector_n : 0)));
  }
  // Whoever owns boxes on coarser levels takes part in the finer ones' collectives.
  bool active = false;
  for (int l = level_n() - 1; l >= 0; --l) {
    active = active || !at(l).boxes().empty();
    groups_.insert(groups_.begin(), l == 0 ? nullptr : ranks.split(active));
    levels_[static_cast<std::size_t>(l)]->ranks = l == 0 ? &ranks.world() : groups_.front().get();
  }
  times_.levels.resize(levels_.size());
  for (int l = 0; l < level_n(); ++l) {
    auto made = std::make_unique<transfers>();
    level const& fine = at(l);
    for (int shape = 0; shape < ghost_shape_n; ++shape) {
      auto const s = static_cast<ghost_shape>(shape);
      if (s != ghost_shape::box && s != operator_shape(what.op)) continue;
      made->exchange[static_cast<std::size_t>(shape)] = ranks.make_exchange(fine, s, members(l));
    }
    if (l + 1 < level_n()) {
      level const& coarse = at(l + 1);
      made->restriction_scratch = ranks.allocate(restriction_scratch(fine, coarse));
      made->interpolation_scratch = ranks.allocate(interpolation_scratch(coarse, fine));
      made->landing = ranks.allocate(interpolation_landing(coarse, fine));
      for (int normal = -1; normal < 3; ++normal) {
        auto const which = static_cast<std::size_t>(normal < 0 ? 3 : normal);
        made->restriction[which] = plan_restriction(fine, coarse, normal, *made->restriction_scratch);
        made->restriction_mover[which] =
            normal < 0 ? ranks.make_restriction(fine, coarse, made->restriction[which], members(l))
                       : ranks.make_mover(made->restriction[which].moves, members(l));
      }
      made->interpolation = plan_interpolation(coarse, fine, *made->interpolation_scratch, *made->landing);
      made->interpolation_mover = ranks.make_interpolation(coarse, fine, made->interpolation, members(l));
    }
    transfers_.push_back(std::move(made));
  }
  build_finest();
  finish_operator(0);
  for (int l = 1; l < level_n(); ++l) {
    restrict_operator(l);
    finish_operator(l);
  }
  reset_times();
}

multigrid::~multigrid() = default;

group* multigrid::members(int l) const { return at(l).ranks; }

void multigrid::reset_times() {
  std::size_t const n = times_.levels.size();
  times_ = {};
  times_.levels.resize(n);
  bottom_iterations = 0;
}

coefficients multigrid::coefficients_of(level const& l, level::own_box const& b) const {
  coefficients c;
  c.a = what_.a();
  if (what_.helmholtz) c.alpha = l.cells(b, alpha);
  for (int d = 0; d < 3; ++d) c.beta[static_cast<std::size_t>(d)] = l.cells(b, beta_i + d);
  c.b_over_h2 = b_coefficient / (l.h() * l.h());
  return c;
}

// The problem and the operator

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
  bool const alone = what_.threads == 1 || boxes * n * n * n < cells_worth_threads;
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

template <class F>
void multigrid::for_cells(level const& l, F&& f) const {
  for (auto const& own : l.boxes()) {
    for_rows(l.layout(), [&](std::ptrdiff_t start) {
      for (std::ptrdiff_t x = start; x < start + l.layout().n; ++x) f(own, x);
    });
  }
}

double multigrid::max_norm(int l, int vector) {
  if (members(l) == nullptr) return 0;
  auto& times = times_.levels[static_cast<std::size_t>(l)];
  double most = 0;
  {
    timed const t(times, phase::blas1);
    for_cells(at(l), [&](auto const& own, std::ptrdiff_t x) {
      most = std::max(most, std::abs(at(l).cells(own, vector)[x]));
    });
  }
  timed const t(times, phase::collectives);
  return members(l)->max(most);
}

double multigrid::dot(int l, int x, int y) {
  auto& times = times_.levels[static_cast<std::size_t>(l)];
  double sum = 0;
  {
    timed const t(times, phase::blas1);
    for_cells(at(l), [&](auto const& own, std::ptrdiff_t c) {
      sum += at(l).cells(own, x)[c] * at(l).cells(own, y)[c];
    });
  }
  timed const t(times, phase::collectives);
  return members(l)->sum(sum);
}

void multigrid::shift_to_zero_mean(int l, int vector) {
  double sum = 0;
  for_cells(at(l), [&](auto const& own, std::ptrdiff_t x) { sum += at(l).cells(own, vector)[x]; });
  double const cells = at(l).shape().cells;
  double const mean = members(l)->sum(sum) / (cells * cells * cells);
  for_cells(at(l), [&](auto const& own, std::ptrdiff_t x) { at(l).cells(own, vector)[x] -= mean; });
}

double multigrid::richardson(int coarse) {
  restrict_vector(coarse - 1, temp, u);
  if (members(coarse) == nullptr) return 0;
  double most = 0;
  for_cells(at(coarse), [&](auto const& own, std::ptrdiff_t x) {
    most = std::max(most, std::abs(at(coarse).cells(own, u)[x] - at(coarse).cells(own, temp)[x]));
  });
  return members(coarse)->max(most);
}

// Cycles

void multigrid::v_cycle(int l, int solution, int right) {
  if (members(l) == nullptr) return;
  if (l + 1 == level_n()) return solve_bottom();
  smooth(l, solution, right);
  residual(l, temp, solution, right);
  restrict_vector(l, r, temp);
  // Only the cells: the ghosts may already have been written by neighbours that are ahead.
  for_cells(at(l + 1), [&](auto const& own, std::ptrdiff_t x) { at(l + 1).cells(own, u)[x] = 0; });
  v_cycle(l + 1, u, r);
  interpolate(l, true, v_cycle_order(what_.op));
  smooth(l, solution, right);
}

void multigrid::f_cycle(int from) {
  int const bottom = level_n() - 1;
  for_cells(at(from), [&](auto const& own, std::ptrdiff_t x) {
    at(from).cells(own, r)[x] = at(from).cells(own, f)[x];
  });
  for (int l = from; l < bottom; ++l) restrict_vector(l, r, r);
  if (members(bottom) != nullptr) {
    for_cells(at(bottom), [&](auto const& own, std::ptrdiff_t x) { at(bottom).cells(own, u)[x] = 0; });
    solve_bottom();
  }
  for (int l = bottom - 1; l >= from; --l) {
    interpolate(l, false, f_cycle_order(what_.op));
    v_cycle(l, u, r);
  }
}

progress multigrid::measure(int l, double norm_of_f) {
  if (what_.periodic && !what_.helmholtz) shift_to_zero_mean(l, u);
  residual(l, temp, u, f);
  double const norm = max_norm(l, temp);
  return {norm, norm / norm_of_f};
}

std::vector<progress> multigrid::solve(int from) {
  std::vector<progress> history;
  if (members(from) == nullptr) return history;
  for_cells(at(from), [&](auto const& own, std::ptrdiff_t x) { at(from).cells(own, u)[x] = 0; });
  double const begin = now();
  double const norm_of_f = max_norm(from, f);
  if (what_.start != cycle::v) {
    f_cycle(from);
    history.push_back(measure(from, norm_of_f));
  }
  if (what_.start != cycle::f) {
    for (int n = 0; n < most_cycles && (history.empty() || history.back().relative >= enough); ++n) {
      for_cells(at(from), [&](auto const& own, std::ptrdiff_t x) {
        at(from).cells(own, r)[x] = at(from).cells(own, f)[x];
      });
      v_cycle(from, u, r);
      history.push_back(measure(from, norm_of_f));
    }
  }
  times_.solve += now() - begin;
  ++times_.solves;
  return history;
}

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
    if (norm_s == 0 || norm_s < bottom_tolerance * norm) return;
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
