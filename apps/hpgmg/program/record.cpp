#include "program/record.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "program/triad.hpp"

namespace hpgmg {

double level_record::total() const { return std::accumulate(seconds.begin(), seconds.end(), 0.0); }

bool check_result::passed() const { return std::abs(value - expected) <= tolerance; }

bool run_record::passed() const { return std::ranges::all_of(checks, &check_result::passed); }

double run_record::sweep_ns_per_cell() const {
  return sizes.empty() ? 0 : 1e9 * sweep_s / sizes.front().unknowns();
}

double run_record::bound_ns_per_cell() const {
  return triad_rate > 0 ? 1e9 * bytes_per_cell(what) / triad_rate : 0;
}

char const* name_of(phase what) {
  static constexpr std::array names{
      "smooth",      "residual",      "operator", "vectors",           "boundary",
      "restriction", "interpolation", "exchange", "restriction moves", "interpolation moves",
      "collectives"};
  static_assert(names.size() == phase_n);
  return names[static_cast<std::size_t>(what)];
}

}  // namespace hpgmg
