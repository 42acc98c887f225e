#pragma once

/// Who copies device memory between hosts: the network, or the engine in pieces through host memory.

#include <optional>
#include <string>

#include "transport/network_types.hpp"

namespace atl::transport {

/// Whether the network does, of those kinds that it takes. `wanted`: ATOLL_NETWORK_DEVICE_MEMORY.
bool moves_devices(abilities const& network, std::optional<bool> wanted) noexcept;

/// "by the network (cuda)", "in pieces through host memory", for people.
std::string device_memory_words(abilities const& network, std::optional<bool> wanted);

}  // namespace atl::transport
