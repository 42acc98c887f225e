#pragma once

/// What the library is meant to reach on two quiet cores. Latencies between ranks are meant in cache-line
/// round trips, so that they hold on other machines too.

#include <optional>
#include <string>

namespace atl::tools {

struct result;

struct goal {
  enum class measure { at_most_ns, at_most_lines, at_least_rate, at_least_share, at_most_value };
  measure what = measure::at_most_ns;
  double bound = 0;

  bool reached(result const& r) const;
  std::string text() const;
};

std::optional<goal> find_goal(result const& r);

}  // namespace atl::tools
