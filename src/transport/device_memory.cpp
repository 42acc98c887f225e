#include "transport/device_memory.hpp"

#include "memory/kind.hpp"

namespace atl::transport {

bool moves_devices(abilities const& network, std::optional<bool> wanted) noexcept {
  std::uint32_t const host = 1U << static_cast<unsigned>(memory::kind_id::host);
  return (network.memory_kinds & ~host) != 0 && wanted.value_or(!network.stages_devices);
}

std::string device_memory_words(abilities const& network, std::optional<bool> wanted) {
  std::string kinds;
  for (memory::kind_id const kind : {memory::kind_id::cuda, memory::kind_id::hip, memory::kind_id::ze}) {
    if (network.takes(kind)) kinds += (kinds.empty() ? "" : ", ") + std::string(memory::to_string(kind));
  }
  if (moves_devices(network, wanted)) return "by the network (" + kinds + ")";
  if (kinds.empty()) return "in pieces through host memory (the network takes no device memory)";
  return "in pieces through host memory (the network " +
         std::string(wanted.has_value() ? "is not to: ATOLL_NETWORK_DEVICE_MEMORY"
                                        : "would do that, too, and slower") +
         ")";
}

}  // namespace atl::transport
