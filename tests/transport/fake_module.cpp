// A module over src/transport/common/module.cpp whose network cannot be opened; the devices say why.

#include <stdexcept>
#include <string_view>

#include "transport/common/module.hpp"

namespace atl::transport {

char const* const module_name = "fake";

std::unique_ptr<network> open_network(network_config const& config, std::string& problem) {
  std::string_view const why = config.devices;
  if (why == "throwing") throw std::runtime_error("no such memory");
  problem = why == "wordy" ? std::string(1 << 16, 'x') : "no such device";
  return nullptr;
}

}  // namespace atl::transport
