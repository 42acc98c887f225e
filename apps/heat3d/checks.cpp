#include "checks.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>

#include "closed_forms.hpp"

namespace heat3d {
namespace {

/// Summation and rounding stay below 1e-15; the faults to be found are above 1e-4.
constexpr double tolerance = 1e-12;

/// A residual that is not a number must not look small.
double worse(double a, double b) { return b > a || std::isnan(b) ? b : a; }

std::string at_updates(char const* what, std::int64_t updates) {
  return std::string(what) + " after " + std::to_string(updates) + " updates";
}

}  // namespace

void energy_ledger::enter(std::int64_t updates, double field, double radiated) {
  if (has_entry_) {
    auto const heated = problem_.heated_updates(updates) - problem_.heated_updates(updates_);
    double const gained = problem_.dt * problem_.power * static_cast<double>(heated) *
                          static_cast<double>(problem_.heated_cell_n());
    double const lost = problem_.dt * problem_.sigma * (radiated - radiated_);
    double const change = field - field_;
    // Relative to the heat in the domain; an eigenmode's heat cancels, so its amplitude counts instead.
    double const amplitude = problem_.start == initial::eigenmode ? std::abs(problem_.amplitude) : 0.0;
    double const scale = std::max({std::abs(field), std::abs(field_), std::abs(gained), std::abs(lost),
                                   amplitude * static_cast<double>(problem_.cell_n())});
    double const difference = std::abs(change - (gained - lost));
    double const relative = difference == 0 ? 0 : difference / scale;
    if (worse(residual_, relative) != residual_) worst_updates_ = updates;
    residual_ = worse(residual_, relative);
    ++comparison_n_;
  }
  has_entry_ = true;
  updates_ = updates;
  field_ = field;
  radiated_ = radiated;
}

check_result energy_ledger::result() const {
  auto detail = std::to_string(comparison_n_) + " comparisons of heat in the domain with heat in and out";
  if (!(residual_ <= tolerance)) detail = at_updates("heat appeared or vanished: worst", worst_updates_);
  return {"energy balance", residual_, tolerance, detail};
}

void mean_check::enter(std::int64_t updates, double mean) {
  auto const exact = exact_mean(problem_, updates);
  if (!exact) return;
  double const scale =
      std::abs(*exact) + (problem_.start == initial::eigenmode ? std::abs(problem_.amplitude) : 0.0);
  double const difference = std::abs(mean - *exact);
  double const relative = difference == 0 ? 0 : difference / scale;
  if (worse(error_, relative) != error_) worst_updates_ = updates;
  error_ = worse(error_, relative);
  ++comparison_n_;
}

std::optional<check_result> mean_check::result() const {
  if (comparison_n_ == 0) return std::nullopt;
  auto detail = std::to_string(comparison_n_) + " means compared with their closed form";
  if (!(error_ <= tolerance)) detail = at_updates("mean differs from its closed form: worst", worst_updates_);
  return check_result{"closed means", error_, tolerance, detail};
}

std::vector<check_result> check_field(problem const& p, block const& own, backend const& engine,
                                      backend::extremes const& found, communicator& ranks) {
  std::vector<check_result> results;
  if (auto const exact = exact_field::make(p, p.update_n())) {
    std::vector<double> field(own.cells.cell_n());
    engine.store(field);
    double error = 0;
    std::size_t i = 0;
    for (auto z = own.cells.low[2]; z < own.cells.high[2]; ++z) {
      for (auto y = own.cells.low[1]; y < own.cells.high[1]; ++y) {
        for (auto x = own.cells.low[0]; x < own.cells.high[0]; ++x) {
          error = worse(error, std::abs(field[i++] - exact->at(x, y, z)));
        }
      }
    }
    // Maxima of several ranks drop what is not a number, infinity survives them.
    if (std::isnan(error)) error = std::numeric_limits<double>::infinity();
    ranks.max({&error, 1});
    results.push_back({"exact field", error / std::max(exact->scale(), std::numeric_limits<double>::min()),
                       tolerance, "every cell compared with the exact solution of this problem"});
  }
  if (auto const bounds = exact_bounds(p)) {
    double outside = std::max({bounds->low - found.min, found.max - bounds->high, 0.0});
    if (!std::isfinite(found.sum.value())) outside = std::numeric_limits<double>::infinity();
    ranks.max({&outside, 1});
    char text[96];
    std::snprintf(text, sizeof text, "no cell may leave [%g, %g]", bounds->low, bounds->high);
    results.push_back({"bounds", outside, 1e-13 * bounds->high, text});
  }
  return results;
}

}  // namespace heat3d
