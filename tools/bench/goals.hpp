#pragma once

/// What the library is meant to reach on two quiet cores. Latencies between ranks are meant in cache-line
/// round trips, so that they hold on other machines too.

#include <string>
#include <vector>

#include "peer.hpp"

namespace atl::tools {

struct result;

struct goal {
  enum class measure {
    at_most_ns,
    at_most_lines,
    at_least_rate,
    at_least_share,
    at_most_value,
    at_most_peers
  };
  measure what = measure::at_most_ns;
  double bound = 0;
  peer whose = peer::mpi;  ///< at_most_peers: `bound` times the time of this one

  bool reached(result const& r) const;
  std::string text() const;
};

/// Goals of this row; those against peers only where the peer was measured.
std::vector<goal> find_goals(result const& r);

}  // namespace atl::tools
