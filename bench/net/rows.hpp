#pragma once

/// What `atoll bench net` measures. Keys are those that message passing and the networks' own tools give their figures.

#include <cstddef>
#include <string>
#include <vector>

#include "harness/group.hpp"
#include "wire.hpp"

namespace atl::bench {

struct net_options {
  std::string rows;                ///< "between" hosts or "inside" one; or "job", a job as a whole
  std::vector<std::size_t> sizes;  ///< messages up to 8 KiB, transfers above
  bool quick = false;
  std::vector<std::string> tools;  ///< of other libraries, to be measured between the same hosts
  bool loop_back = false;          ///< the hosts are simulated
  group_config config;
};

/// From this size on bandwidth is measured, below it time.
inline constexpr std::size_t long_from = std::size_t{8} << 10;

/// Between two ranks on two hosts, beside bare TCP.
void run_between(net_options const& options, wire& beside);

/// Between ranks 0 and 1, which share a host; others have to be quiet meanwhile.
void run_inside(net_options const& options);

/// What other libraries' own tools reach between the same two hosts, after the library has ended here. `first` runs the
/// clients and prints.
void run_tools(net_options const& options, wire& between, bool first);

}  // namespace atl::bench
