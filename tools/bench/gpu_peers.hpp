#pragma once

/// The alternatives for copies and collectives between GPUs, each measured if it is there: MPI that takes GPU
/// memory, NVSHMEM, NCCL, and UCX by its own measuring tool.

#include <functional>
#include <string>

#include "options.hpp"
#include "peer.hpp"
#include "programs.hpp"

namespace atl::tools {

/// Runs them one after the other, each for a minute at most; collectives for each number of ranks that has as many devices.
/// `take_fact`: what was measured, or why not, one line a peer.
void measure_gpu_peers(programs const& p, bench_options const& o,
                       std::function<void(peer_figure const&)> const& take_figure,
                       std::function<void(std::string const&, std::string const&)> const& take_fact);

}  // namespace atl::tools
