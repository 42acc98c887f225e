#pragma once

/// One measured row, evaluated.

#include <array>
#include <cstddef>
#include <string>
#include <vector>

#include "goals.hpp"
#include "harness/record.hpp"
#include "peer.hpp"

namespace atl::tools {

struct result {
  std::string suite;
  std::string key;
  std::string name;
  std::string mpi_key;     ///< of the message-passing row beside it
  std::string show;        ///< time, rate, bandwidth, or value
  std::string limit_name;  ///< line, memcpy, store, load, turn; or none
  std::size_t bytes = 0;
  int ranks = 0;
  std::size_t iterations = 0;
  std::size_t blocks = 0;
  std::size_t disturbed = 0;  ///< blocks among them in which a rank lost its core
  double median_ns = 0;
  double p10_ns = 0;
  double p90_ns = 0;
  double deviation_ns = 0;
  double lines = 0;  ///< cache-line round trips an operation; 0: not measured
  double line_ns = 0;
  double limit_ns = 0;                         ///< 0: none
  double share = 0;                            ///< of the limit; 0: none
  std::array<double, peers.size()> peer_ns{};  ///< what others need for the same; 0: not measured
  double value = 0;                            ///< show == value
  std::string unit;
  std::vector<goal> goals;
  std::vector<double> samples;

  double of(peer p) const { return peer_ns[static_cast<std::size_t>(p)]; }
};

/// Without peers and goals.
result evaluate(bench::record const& record);

/// "8 B", "4 KiB".
std::string size_text(std::size_t bytes);

}  // namespace atl::tools
