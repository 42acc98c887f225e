#include "transport/device_memory.hpp"

#include "memory/kind.hpp"

namespace atl::transport {

std::string device_memory_words(abilities const& network, bool wanted) {
  std::string kinds;
  for (memory::kind_id const kind : {memory::kind_id::cuda, memory::kind_id::hip, memory::kind_id::ze}) {
    if (network.takes(kind)) kinds += (kinds.empty() ? "" : ", ") + std::string(memory::to_string(kind));
  }
  if (kinds.empty()) return "in pieces through host memory (the network takes no device memory)";
  return wanted ? "by the network (" + kinds + ")"
                : "in pieces through host memory (the network is not to: ATOLL_NETWORK_DEVICE_MEMORY)";
}

}  // namespace atl::transport
