#pragma once

/// The list of ranks that a rank gave to team::create last, for the messages of peers on its host.

#include <cstdint>
#include <string>
#include <vector>

#include "engine/host/host_domain.hpp"

namespace atl::engine {

/// Shows in the own page what was given to the creation that is collective `number` of the team `parent`.
void show_list(host_domain const& host, std::uint64_t parent, std::uint32_t number,
               std::vector<std::int32_t> const& ranks) noexcept;

/// "{0, 1}", or empty if the rank is on another host or has given another list since.
std::string list_of(host_domain const& host, std::int32_t world_rank, std::uint64_t parent,
                    std::uint32_t number);

}  // namespace atl::engine
