#include "solver/problem.hpp"

#include <array>
#include <cmath>
#include <numbers>

namespace hpgmg {
namespace {

constexpr double pi = std::numbers::pi;

double power(double x, int n) {
  double result = 1;
  for (; n > 0; --n) result *= x;
  return result;
}

/// beta = 1 + S/4 with S = sin sin sin of 2 pi x;
/// its average over a face is that of the two directions in it.
double beta_volume(position p, double h) {
  double const s = std::sin(2 * pi * p.x) * std::sin(2 * pi * p.y) * std::sin(2 * pi * p.z);
  return 1 + s / 4 * (1 - pi * pi * h * h / 3);
}

/// The seventh power of S, averaged over the cell to fourth order. Its mean over the domain is 0 but for
/// rounding, so that the first solve on a grid of one cell is done at once or not:
/// std::pow rounds as in the reference.
double source_volume(position p, double h) {
  auto const power = [](double x, int n) { return std::pow(x, n); };
  double const w = 2 * pi;
  std::array<double, 3> const s{std::sin(w * p.x), std::sin(w * p.y), std::sin(w * p.z)};
  std::array<double, 3> const c{std::cos(w * p.x), std::cos(w * p.y), std::cos(w * p.z)};
  double const value = power(s[0] * s[1] * s[2], 7);
  double laplacian = 0;
  for (std::size_t d = 0; d < 3; ++d) {
    double const others = power(s[(d + 1) % 3], 7) * power(s[(d + 2) % 3], 7);
    laplacian += -7 * w * w * value + 42 * w * w * power(s[d], 5) * c[d] * c[d] * others;
  }
  return value + h * h / 24 * laplacian;
}

constexpr double steepness = 10;
constexpr double radius = 0.25;

double distance(position p) { return std::hypot(p.x - 0.5, p.y - 0.5, p.z - 0.5); }

double beta_point(position p) { return 5.5 + 4.5 * std::tanh(steepness * (distance(p) - radius)); }

double source_point(position p, double a, double b, bool periodic) {
  double const shift = periodic ? 1.0 / 21 : 0.0;
  std::array<double, 3> const w{p.x, p.y, p.z};
  std::array<double, 3> u{};
  std::array<double, 3> du{};
  std::array<double, 3> ddu{};
  for (std::size_t d = 0; d < 3; ++d) {
    double const x = w[d];
    u[d] = 2 * power(x, 6) - 6 * power(x, 5) + 5 * power(x, 4) - x * x + shift;
    du[d] = 12 * power(x, 5) - 30 * power(x, 4) + 20 * power(x, 3) - 2 * x;
    ddu[d] = 60 * power(x, 4) - 120 * power(x, 3) + 60 * x * x - 2;
  }
  double const r = distance(p);
  double const t = std::tanh(steepness * (r - radius));
  double const slope = r > 0 ? 4.5 * steepness * (1 - t * t) / r : 0;
  double flux = 0;
  for (std::size_t d = 0; d < 3; ++d) {
    double const others = u[(d + 1) % 3] * u[(d + 2) % 3];
    flux += slope * (w[d] - 0.5) * du[d] * others + beta_point(p) * ddu[d] * others;
  }
  return a * u[0] * u[1] * u[2] - b * flux;
}

}  // namespace

double beta_at(problem_kind kind, position face_centre, double h) {
  return kind == problem_kind::volume ? beta_volume(face_centre, h) : beta_point(face_centre);
}

double right_hand_side(problem_kind kind, position cell_centre, double h, double a, double b, bool periodic) {
  return kind == problem_kind::volume ? source_volume(cell_centre, h)
                                      : source_point(cell_centre, a, b, periodic);
}

}  // namespace hpgmg
