#include "problem/closed_forms.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace heat3d {
namespace {

constexpr double pi = std::numbers::pi;

double cosine_product(problem const& p, std::int64_t x, std::int64_t y, std::int64_t z) {
  triple const at{x, y, z};
  double product = 1;
  for (int d = 0; d < 3; ++d) {
    auto const n = static_cast<double>(p.domain[d]);
    product *= std::cos(pi * static_cast<double>(p.mode[d]) * (static_cast<double>(at[d]) + 0.5) / n);
  }
  return product;
}

double sine_squared(std::int64_t k, std::int64_t n) {
  double const s = std::sin(pi * static_cast<double>(k) / (2.0 * static_cast<double>(n)));
  return s * s;
}

/// Field along x, relative to T0, of a bar heated at x = 0 without radiation: a sum over cosine modes, each
/// of which grows by a geometric series while power is on and decays afterwards.
std::vector<double> heated_bar(problem const& p, std::int64_t updates) {
  auto const n = p.domain[0];
  auto const heated = p.heated_updates(updates);
  auto const cooled = updates - heated;
  std::vector<double> field(n, static_cast<double>(heated) / static_cast<double>(n));
  for (std::int64_t k = 1; k < n; ++k) {
    double const loss = 4 * p.q * p.dt * sine_squared(k, n);  // 1 - lambda, exact where lambda is close to 1
    double const lambda = 1 - loss;
    double const steps = static_cast<double>(heated);
    double const grown = loss == 0    ? steps
                         : loss < 0.5 ? -std::expm1(steps * std::log1p(-loss)) / loss
                                      : (1 - std::pow(lambda, steps)) / loss;
    double const weight = 2.0 / static_cast<double>(n) *
                          std::cos(pi * static_cast<double>(k) / (2.0 * static_cast<double>(n))) * grown *
                          std::pow(lambda, static_cast<double>(cooled));
    for (std::int64_t x = 0; x < n; ++x) {
      field[x] += weight * std::cos(pi * static_cast<double>(k) * (static_cast<double>(x) + 0.5) /
                                    static_cast<double>(n));
    }
  }
  for (auto& value : field) value *= p.dt * p.power;
  return field;
}

}  // namespace

double initial_value(problem const& p, std::int64_t x, std::int64_t y, std::int64_t z) {
  return p.start == initial::uniform ? p.t0 : p.t0 + p.amplitude * cosine_product(p, x, y, z);
}

std::optional<double> exact_mean(problem const& p, std::int64_t updates) {
  auto const x = static_cast<double>(p.domain[0]);
  auto const y = static_cast<double>(p.domain[1]);
  auto const z = static_cast<double>(p.domain[2]);
  bool const uniform = p.start == initial::uniform;
  bool const flat = p.mode == triple{0, 0, 0};  // an eigenmode without any wave is a constant
  // The heat of a cosine mode cancels cell by cell as long as it has fewer than 2 X half waves.
  bool const balanced =
      p.mode[0] < 2 * p.domain[0] && p.mode[1] < 2 * p.domain[1] && p.mode[2] < 2 * p.domain[2];
  double const start = uniform ? p.t0 : p.t0 + (flat ? p.amplitude : 0.0);
  if (!uniform && !balanced) return std::nullopt;
  if (updates == 0) return start;
  if (p.sigma == 0) return start + p.dt * p.power * static_cast<double>(p.heated_updates(updates)) / x;
  if (!uniform) return std::nullopt;
  if (updates == 1) {
    return p.t0 + p.dt * (p.power / x - 2 * p.sigma * fourth_power(p.t0) * (1 / x + 1 / y + 1 / z));
  }
  if (updates == 2 && p.t0 == 0 && p.last_step >= 2 && p.domain[0] > 1) {
    // After one update only the heated face is warm, at dt P everywhere.
    return 2 * p.dt * p.power / x -
           p.dt * p.sigma * fourth_power(p.dt * p.power) * (y * z + 2 * y + 2 * z) / (x * y * z);
  }
  return std::nullopt;
}

std::optional<exact_field> exact_field::make(problem const& p, std::int64_t updates) {
  if (p.sigma != 0) return std::nullopt;
  exact_field exact(p);
  if (p.start == initial::eigenmode) {
    if (p.power != 0) return std::nullopt;
    double loss = 0;
    for (int d = 0; d < 3; ++d) loss += sine_squared(p.mode[d], p.domain[d]);
    exact.factor_ = std::pow(1 - 4 * p.q * p.dt * loss, static_cast<double>(updates));
    exact.scale_ = std::abs(p.t0) + std::abs(p.amplitude) * std::max(1.0, std::abs(exact.factor_));
    return exact;
  }
  constexpr std::int64_t longest = 4000;  // the profile costs the square of the length
  if (p.domain[0] > longest) return std::nullopt;
  exact.profile_ = heated_bar(p, updates);
  exact.scale_ = std::abs(p.t0);
  for (double value : exact.profile_) exact.scale_ = std::max(exact.scale_, std::abs(p.t0 + value));
  return exact;
}

double exact_field::at(std::int64_t x, std::int64_t y, std::int64_t z) const {
  if (problem_.start == initial::uniform) return problem_.t0 + profile_[x];
  return problem_.t0 + problem_.amplitude * factor_ * cosine_product(problem_, x, y, z);
}

std::optional<interval> exact_bounds(problem const& p) {
  if (p.start != initial::uniform || p.sigma <= 0 || p.power < 0 || p.t0 < 0) return std::nullopt;
  double const top = std::max(p.t0, std::pow(p.power / p.sigma, 0.25));
  double const radiated = p.dt * p.sigma * top * top * top;
  double const conducted = p.dt * p.q;
  // A cell at the top must not rise and one at zero must not fall, for any number of exposed faces.
  if (5 * conducted + 4 * radiated > 1 || 6 * std::max(conducted, radiated) > 1) return std::nullopt;
  return interval{0, top};
}

}  // namespace heat3d
