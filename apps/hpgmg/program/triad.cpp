#include "program/triad.hpp"

#include <algorithm>
#include <cmath>

namespace hpgmg {
namespace {

constexpr double duration = 0.2;

/// Not inlined: every round is computed.
[[gnu::noinline]] void triad(double* __restrict a, double const* __restrict b, double const* __restrict c,
                             std::size_t n, double s, [[maybe_unused]] int threads) {
#if defined(_OPENMP)
  if (threads > 1) {
#pragma omp parallel for num_threads(threads) schedule(static)
    for (std::size_t i = 0; i < n; ++i) a[i] = b[i] + s * c[i];
    return;
  }
#endif
  for (std::size_t i = 0; i < n; ++i) a[i] = b[i] + s * c[i];
}

}  // namespace

int bytes_per_cell(problem const& what) {
  // u, f, 1/diagonal, three coefficients and the result; alpha besides.
  bool const in_place = what.smooth == smoother::gsrb && what.op != stencil::fv4 && what.threads == 1;
  int const read = 6 + (what.helmholtz ? 1 : 0) + (in_place ? 0 : 1);
  return 8 * (read + 1);
}

double triad_bytes(problem const& what, double boxes) {
  constexpr double most = 1024.0 * 1024 * 1024;
  return std::min(most, bytes_per_cell(what) * boxes * std::pow(1 << what.log2_box, 3));
}

double triad_rate(runtime& ranks, double bytes, int threads) {
  auto const n = static_cast<std::size_t>(bytes / (3 * sizeof(double)));
  std::vector<double> a(n, 0.0);
  std::vector<double> b(n, 1.0);
  std::vector<double> c(n, 2.0);
  triad(a.data(), b.data(), c.data(), n, 0.5, threads);
  ranks.world().barrier();
  double moved = 0;
  double const begin = now();
  double end = begin;
  while (n > 0 && end - begin < duration) {
    // Several rounds between two looks at the clock where arrays are short.
    for (std::size_t round = 0; round < 1 + 100'000 / n; ++round) {
      triad(a.data(), b.data(), c.data(), n, 0.5, threads);
      moved += 32.0 * static_cast<double>(n);
    }
    end = now();
  }
  ranks.world().barrier();
  return ranks.world().sum(n > 0 ? moved / (end - begin) : 0);
}

}  // namespace hpgmg
