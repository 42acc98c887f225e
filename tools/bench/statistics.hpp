#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

namespace atl::tools {

/// Linear interpolation between the samples beside it; 0 without samples.
inline double quantile(std::vector<double> samples, double fraction) {
  if (samples.empty()) return 0;
  std::sort(samples.begin(), samples.end());
  double const at = fraction * static_cast<double>(samples.size() - 1);
  auto const below = static_cast<std::size_t>(at);
  std::size_t const above = std::min(below + 1, samples.size() - 1);
  return samples[below] + (samples[above] - samples[below]) * (at - static_cast<double>(below));
}

inline double median(std::vector<double> const& samples) { return quantile(samples, 0.5); }

/// Median of the distances from the median.
inline double median_deviation(std::vector<double> samples) {
  double const middle = median(samples);
  for (double& s : samples) s = std::abs(s - middle);
  return median(samples);
}

/// Median of a[i] / b[i].
inline double median_ratio(std::vector<double> const& a, std::vector<double> const& b) {
  std::vector<double> ratios;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    if (b[i] > 0) ratios.push_back(a[i] / b[i]);
  }
  return median(ratios);
}

}  // namespace atl::tools
