#include "transport/common/module.hpp"

#include <cstdio>
#include <exception>

namespace atl::transport {
namespace {

network* open(network_config const& config, char* why, std::size_t room) noexcept {
  try {
    std::string problem;
    if (std::unique_ptr<network> opened = open_network(config, problem)) return opened.release();
    std::snprintf(why, room, "%s", problem.c_str());
  } catch (std::exception const& e) {
    std::snprintf(why, room, "%s", e.what());
  }
  return nullptr;
}

}  // namespace
}  // namespace atl::transport

extern "C" [[gnu::visibility("default")]] atl::transport::atoll_network_plugin const*
atoll_network_plugin_1() {
  using namespace atl::transport;
  static atoll_network_plugin const plugin{plugin_version, plugin_types, module_name, &open};
  return &plugin;
}
