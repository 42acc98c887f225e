// The grids, and the cycles over them.

#include "solver/multigrid.hpp"

#include <cmath>

#include "solver/multigrid_parts.hpp"

namespace hpgmg {

namespace {

constexpr double enough = 1e-10;  ///< share of f at which repeated V-cycles end
constexpr int most_cycles = 20;

prolongation v_cycle_order(stencil op) {
  return op == stencil::point7 ? prolongation::constant : prolongation::quadratic;
}
prolongation f_cycle_order(stencil op) {
  return op == stencil::fv4   ? prolongation::quartic
         : op == stencil::fv2 ? prolongation::quadratic
                              : prolongation::linear;
}

}  // namespace

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

double multigrid::max_norm(int l, int vector) {
  if (members(l) == nullptr) return 0;
  auto& times = times_.levels[static_cast<std::size_t>(l)];
  double most = 0;
  {
    timed const t(times, phase::blas1);
    for_cells(at(l), [&](auto const& own, std::ptrdiff_t x) {
      most = larger(most, std::abs(at(l).cells(own, vector)[x]));
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
    most = larger(most, std::abs(at(coarse).cells(own, u)[x] - at(coarse).cells(own, temp)[x]));
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

}  // namespace hpgmg
