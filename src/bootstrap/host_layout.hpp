#pragma once

/// The notation of ATOLL_SIM_HOSTS.

#include <cstdint>
#include <string_view>
#include <vector>

namespace atl::bootstrap {

/// Host of each of `ranks` ranks, as the text says:
///
///   2x3         2 hosts of 3 ranks: 0 0 0 1 1 1
///   1,3         hosts of 1 and of 3 ranks: 0 1 1 1
///   cyclic:2x3  the same hosts, but ranks are dealt out in turn: 0 1 0 1 0 1; a host that is full is left out
///
/// Throws startup_error for any other text, and for one that is meant for another number of ranks.
std::vector<std::int32_t> read_host_layout(std::string_view text, std::int32_t ranks);

}  // namespace atl::bootstrap
