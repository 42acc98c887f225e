#pragma once

/// Who copies device memory between hosts: the network, or the engine in pieces through host memory.

#include <string>

#include "transport/network_types.hpp"

namespace atl::transport {

/// "by the network (cuda)", "in pieces through host memory …", for people. `wanted`: ATOLL_NETWORK_DEVICE_MEMORY.
std::string device_memory_words(abilities const& network, bool wanted);

}  // namespace atl::transport
