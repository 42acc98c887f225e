// What libatoll sees of this module.

#include "transport/plugin.hpp"

#include <algorithm>
#include <cstring>
#include <exception>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "transport/ofi/ofi_network.hpp"

namespace atl::transport::ofi {
namespace {

void say(char* why, std::size_t room, std::string_view words) noexcept {
  if (room == 0) return;
  std::size_t const n = std::min(words.size(), room - 1);
  std::memcpy(why, words.data(), n);
  why[n] = '\0';
}

network* open_network(network_config const& config, char* why, std::size_t room) noexcept {
  try {
    std::string problem = open_libfabric(config.library);
    auto opened = std::make_unique<context>();
    device chosen;
    if (problem.empty()) {
      chosen = choose_device(config);
      problem = chosen.why_not;
    }
    std::vector<info_ptr> alike = std::move(chosen.alike);
    if (problem.empty()) problem = opened->open(std::move(chosen), config);
    if (problem.empty()) return new ofi_network(std::move(opened), std::move(alike), config);
    say(why, room, problem);
  } catch (std::exception const& e) {
    say(why, room, e.what());
  }
  return nullptr;
}

constexpr atoll_network_plugin plugin{plugin_version, plugin_types, "ofi", &open_network};

}  // namespace
}  // namespace atl::transport::ofi

extern "C" [[gnu::visibility("default")]] atl::transport::atoll_network_plugin const*
atoll_network_plugin_1() {
  return &atl::transport::ofi::plugin;
}
