#pragma once

/// `atoll bench net`: jobs of two ranks on two hosts, and what others reach there, in turn.

#include <functional>
#include <string>

#include "harness/record.hpp"
#include "options.hpp"
#include "peer.hpp"
#include "programs.hpp"

namespace atl::tools {

/// Told when all rounds over a transport are over: figures of others first, then the rows.
struct net_listener {
  std::function<void(peer_figure const&)> figure;
  std::function<void(bench::record const&)> row;
  std::function<void(std::string const& name, std::string const& value)> fact;
};

/// Between the hosts that were named, else between two simulated ones on this machine's loop-back; over the networks of
/// ATOLL_TRANSPORTS, else all that can be opened here. Returns the status of the first job that failed, or 0.
int measure_net(programs const& p, bench_options const& o, net_listener const& listener);

}  // namespace atl::tools
