#pragma once

/// The report at start-up that UPCXX_VERBOSE asks for.

#include "bootstrap/bootstrap.hpp"
#include "transport/network.hpp"

namespace atl::engine {

/// What there is to report beside the placement.
struct start_facts {
  std::size_t heap_bytes = 0;  ///< of each rank
  int cores = 0;               ///< that the ranks of this host may use together
  bool oversubscribed = false;
  bool by_user = false;                         ///< oversubscribed or not by UPCXX_OVERSUBSCRIBED
  bool reads_peers = false;                     ///< ranks fetch large messages from each other's memory
  transport::network const* network = nullptr;  ///< between hosts, if there are several
};

/// Collective over the ranks of the host. Its first rank prints to standard error: with `level` 1, cores,
/// heaps, large messages, the network and the local team; from 2, each rank with its process and cores.
void report_start(bootstrap::channel& channel, start_facts const& facts, int level);

}  // namespace atl::engine
