#include "problem/checks.hpp"

#include <algorithm>
#include <cmath>

#include "problem/closed_forms.hpp"

namespace heat3d {
namespace {

std::string at_updates(char const* what, std::int64_t updates) {
  return std::string(what) + " after " + std::to_string(updates) + " updates";
}

}  // namespace

double worse(double a, double b) { return b > a || std::isnan(b) ? b : a; }

void worst_difference::note(double next, double its_limit, std::int64_t after) {
  double const share = value / limit;
  if (std::isnan(share) || worse(share, next / its_limit) == share) return;
  value = next;
  limit = its_limit;
  updates = after;
}

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
    worst_.note(relative, tolerance_after(updates - updates_), updates);
    ++comparison_n_;
  }
  has_entry_ = true;
  updates_ = updates;
  field_ = field;
  radiated_ = radiated;
}

check_result energy_ledger::result() const {
  auto detail = std::to_string(comparison_n_) + " comparisons of heat in the domain with heat in and out";
  if (!worst_.passed()) detail = at_updates("heat appeared or vanished: worst", worst_.updates);
  if (std::isnan(worst_.value)) {
    detail = at_updates("temperatures grew beyond all numbers: seen", worst_.updates) +
             "; -dt may be 1/(6 q), and less with radiation, which takes temperatures that are not negative";
  }
  return {"energy balance", worst_.value, worst_.limit, detail};
}

void mean_check::enter(std::int64_t updates, double mean) {
  auto const exact = exact_mean(problem_, updates);
  if (!exact) return;
  double const scale =
      std::abs(*exact) + (problem_.start == initial::eigenmode ? std::abs(problem_.amplitude) : 0.0);
  double const difference = std::abs(mean - *exact);
  double const relative = difference == 0 ? 0 : difference / scale;
  worst_.note(relative, tolerance_after(updates), updates);
  ++comparison_n_;
}

std::optional<check_result> mean_check::result() const {
  if (comparison_n_ == 0) return std::nullopt;
  auto detail = std::to_string(comparison_n_) + " means compared with their closed form";
  if (!worst_.passed()) detail = at_updates("mean differs from its closed form: worst", worst_.updates);
  return check_result{"closed means", worst_.value, worst_.limit, detail};
}

}  // namespace heat3d
