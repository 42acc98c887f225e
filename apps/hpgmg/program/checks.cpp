#include "program/checks.hpp"

#include <algorithm>
#include <cmath>

#include "solver/reference.hpp"

namespace hpgmg {
namespace {

/// One F-cycle falls below a hundredth, repeated cycles further; boxes of odd sizes are no exception.
constexpr double largest_left = 0.1;

struct comparison {
  std::vector<check_result>& list;
  void relative(std::string name, double value, double expected, double tolerance) const {
    list.push_back({std::move(name), value, expected, tolerance * std::abs(expected)});
  }
};

void compare_sizes(comparison const& to, run_record const& run, reference const& known, int cells) {
  // With fv2 the bottom is one cell, whose first right-hand side is the mean of f: 0, or a rounding error,
  // for which there is an iteration; that depends on the mathematical library.
  double const iterations_more = run.what.op == stencil::fv2 ? 1 : 0;
  for (std::size_t s = 0; s < run.sizes.size(); ++s) {
    auto const& size = run.sizes[s];
    std::string const at = std::string(" on ") + size_names[s];
    if (known.source_norm) {
      to.relative("norm of f" + at, size.source_norm, (*known.source_norm)[s], exact_tolerance);
    }
    if (known.residual_norm) {
      double const norm = size.history.empty() ? NAN : size.history.back().norm;
      to.relative("residual" + at, norm, (*known.residual_norm)[s], norm_tolerance(cells));
    }
    if (known.bottom_iterations) {
      to.list.push_back({"bottom iterations" + at, double(size.bottom_iterations),
                         double((*known.bottom_iterations)[s]), iterations_more});
    }
  }
}

/// Of cycles that repeat. Small residuals are differences of large numbers.
void compare_history(comparison const& to, std::vector<progress> const& found,
                     std::vector<double> const& known) {
  to.list.push_back({"cycles", double(found.size()), double(known.size()), 0});
  for (std::size_t n = 0; n < std::min(found.size(), known.size()); ++n) {
    to.relative("reduction after cycle " + std::to_string(n + 1), found[n].relative, known[n],
                1e-5 + 1e-12 / known[n]);
  }
}

}  // namespace

std::vector<check_result> compare(run_record const& run) {
  std::vector<check_result> list;
  comparison const to{list};
  int const cells = run.levels.front().cells;
  if (auto const known = find_reference(run.what, cells)) {
    for (std::size_t l = 0; l < std::min(known->largest_eigenvalue.size(), run.largest_eigenvalue.size());
         ++l) {
      auto const [bound, tolerance] = known->largest_eigenvalue[l];
      to.relative("eigenvalue bound on level " + std::to_string(l), run.largest_eigenvalue[l], bound,
                  std::max(tolerance, exact_tolerance));
    }
    compare_sizes(to, run, *known, cells);
    if (!known->reduction.empty() && !run.sizes.empty()) {
      compare_history(to, run.sizes.front().history, known->reduction);
    }
    bool const converged = run.what.start != cycle::f;
    if (known->error) {
      to.relative("Richardson error", run.error, *known->error, converged ? 1e-8 : error_tolerance(cells));
    }
    if (known->order) list.push_back({"order", run.order, *known->order, order_tolerance});
  }
  for (std::size_t s = 0; s < run.sizes.size(); ++s) {
    double const left = run.sizes[s].history.empty() ? NAN : run.sizes[s].history.back().relative;
    list.push_back({std::string("residual left on ") + size_names[s], left, 0, largest_left});
  }
  return list;
}

}  // namespace hpgmg
