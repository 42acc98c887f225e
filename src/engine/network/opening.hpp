#pragma once

/// Which network carries what goes between the hosts of the job, and its opening.

#include <memory>
#include <string>
#include <string_view>

#include "bootstrap/bootstrap.hpp"
#include "engine/network/card.hpp"
#include "engine/network/simulated.hpp"
#include "transport/network.hpp"

namespace atl::engine {

/// What ranks of one machine share for a simulated network; null, where there is one host or another network is used.
/// Collective over the machine. Throws startup_error.
std::unique_ptr<simulated_machine> join_simulated(bootstrap::channel& channel);

/// The network of this rank, null in jobs on one host; leaves its address for the others. Throws startup_error.
std::unique_ptr<transport::network> open_network(bootstrap::channel& channel, simulated_machine* machine);

/// The card of a rank of the job, as that has left it. Ends the job if that uses another network than `network`.
card card_of(bootstrap::channel& channel, std::int32_t rank, std::string_view network);

}  // namespace atl::engine
