// The loops over one row, compiled once for each vector width and chosen when the program starts.
//
// Sums along a row are reassociated (`omp simd reduction`), nothing else is: the field itself is the same for
// every vector width. Rows are short, and their sums are added with compensation by the callers.

#include "backends/rows.hpp"

// Clones are chosen through ifuncs, whose resolvers run before a sanitizer's run-time is ready.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define HEAT3D_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define HEAT3D_SANITIZED 1
#endif
#endif
#if defined(__x86_64__) && defined(__linux__) && !defined(HEAT3D_SANITIZED)
#define HEAT3D_CLONES __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define HEAT3D_CLONES
#endif

namespace heat3d {
namespace {

enum class result { rate, advanced };

/// Cells [begin, end) that have both x neighbours inside the row.
template <result Result, bool SumField, bool Exposed>
[[gnu::always_inline]] inline row_sums middle(row const& r, coefficients const& k, std::int64_t begin,
                                              std::int64_t end) {
  double const* __restrict center = r.center;
  double const* __restrict y_low = r.y_low;
  double const* __restrict y_high = r.y_high;
  double const* __restrict z_low = r.z_low;
  double const* __restrict z_high = r.z_high;
  double* __restrict out = r.out;
  double const q = k.q;
  double const dt = k.dt;
  double const exposed_sigma = k.sigma * r.exposed;
  double field = 0;
  double fourth = 0;
#pragma omp simd reduction(+ : field, fourth)
  for (std::int64_t x = begin; x < end; ++x) {
    double const c = center[x];
    double rate = conduction(c, center[x - 1], center[x + 1], y_low[x], y_high[x], z_low[x], z_high[x], q);
    if constexpr (Exposed) {
      rate = with_outside(rate, c, 0.0, exposed_sigma);
      fourth += fourth_power(c);
    }
    if constexpr (SumField) field += c;
    out[x] = Result == result::advanced ? advanced(c, rate, dt) : rate;
  }
  return {field, r.exposed * fourth};
}

/// The first or last cell of a row, whose x neighbour may be in a halo or missing, and which may be heated.
template <result Result>
[[gnu::always_inline]] inline void end_cell(row const& r, coefficients const& k, std::int64_t x,
                                            row_sums& sums) {
  double const c = r.center[x];
  auto exposed = r.exposed;
  double low = c;
  double high = c;
  if (x > 0) {
    low = r.center[x - 1];
  } else if (r.x_low != nullptr) {
    low = *r.x_low;
  } else {
    ++exposed;
  }
  if (x + 1 < r.length) {
    high = r.center[x + 1];
  } else if (r.x_high != nullptr) {
    high = *r.x_high;
  } else {
    ++exposed;
  }
  double const power = x == 0 && r.heated ? k.power : 0.0;
  double rate = conduction(c, low, high, r.y_low[x], r.y_high[x], r.z_low[x], r.z_high[x], k.q);
  rate = with_outside(rate, c, power, k.sigma * exposed);
  sums.field += c;
  sums.radiated += exposed * fourth_power(c);
  r.out[x] = Result == result::advanced ? advanced(c, rate, k.dt) : rate;
}

template <result Result, bool SumField>
[[gnu::always_inline]] inline row_sums whole(row const& r, coefficients const& k) {
  row_sums ends;
  auto begin = r.begin;
  auto end = r.end;
  if (begin == 0 && begin < end) end_cell<Result>(r, k, begin++, ends);
  if (end == r.length && begin < end) end_cell<Result>(r, k, --end, ends);
  auto const sums = r.exposed != 0 ? middle<Result, SumField, true>(r, k, begin, end)
                                   : middle<Result, SumField, false>(r, k, begin, end);
  return {sums.field + ends.field, sums.radiated + ends.radiated};
}

}  // namespace

HEAT3D_CLONES row_sums rate_row(row const& r, coefficients const& k) {
  return whole<result::rate, false>(r, k);
}

HEAT3D_CLONES row_sums advance_row(row const& r, coefficients const& k) {
  return whole<result::advanced, false>(r, k);
}

HEAT3D_CLONES row_sums advance_and_sum_row(row const& r, coefficients const& k) {
  return whole<result::advanced, true>(r, k);
}

HEAT3D_CLONES void update_run(double* __restrict field, double const* __restrict rate, std::int64_t n,
                              double dt) {
#pragma omp simd
  for (std::int64_t i = 0; i < n; ++i) field[i] = advanced(field[i], rate[i], dt);
}

HEAT3D_CLONES double update_and_sum_run(double* __restrict field, double const* __restrict rate,
                                        std::int64_t n, double dt) {
  double sum = 0;
#pragma omp simd reduction(+ : sum)
  for (std::int64_t i = 0; i < n; ++i) {
    double const c = field[i];
    sum += c;
    field[i] = advanced(c, rate[i], dt);
  }
  return sum;
}

HEAT3D_CLONES double sum_run(double const* values, std::int64_t n) {
  double sum = 0;
#pragma omp simd reduction(+ : sum)
  for (std::int64_t i = 0; i < n; ++i) sum += values[i];
  return sum;
}

}  // namespace heat3d
