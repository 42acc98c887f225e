#include "program/field_check.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>

#include "problem/closed_forms.hpp"

namespace heat3d {

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
                       tolerance_after(p.update_n()),
                       "every cell compared with the exact solution of this problem"});
  }
  if (auto const bounds = exact_bounds(p)) {
    double outside = std::max({bounds->low - found.min, found.max - bounds->high, 0.0});
    if (!std::isfinite(found.sum.value())) outside = std::numeric_limits<double>::infinity();
    ranks.max({&outside, 1});
    char text[96];
    std::snprintf(text, sizeof text, "no cell may leave [%g, %g]", bounds->low, bounds->high);
    results.push_back({"bounds", outside, 0.1 * tolerance_after(p.update_n()) * bounds->high, text});
  }
  return results;
}

}  // namespace heat3d
