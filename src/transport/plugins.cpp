#include "transport/plugins.hpp"

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <vector>

#include "base/beside_library.hpp"
#include "base/error.hpp"

namespace atl::transport {
namespace {

constexpr std::array<std::string_view, 2> known{"ucx", "ofi"};

/// The module's own words; null, and why not.
atoll_network_plugin const* load(std::string const& file, std::string& why_not) {
  void* const module = ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (module == nullptr) {
    char const* const error = ::dlerror();
    why_not = error != nullptr ? error : "it cannot be opened";
    return nullptr;
  }
  auto const words = reinterpret_cast<atoll_network_plugin_function>(::dlsym(module, plugin_symbol));
  if (words == nullptr) {
    why_not = format("%s is no network of this version of Atoll: it has no function %s", file.c_str(),
                     plugin_symbol);
    return nullptr;
  }
  atoll_network_plugin const* const plugin = words();
  if (plugin->version == plugin_version && plugin->types == plugin_types) return plugin;
  why_not = format(
      "%s is of another version of Atoll (interface %u/%08x, and this library has %u/%08x); install both "
      "from one build",
      file.c_str(), plugin->version, plugin->types, plugin_version, plugin_types);
  return nullptr;
}

}  // namespace

std::span<std::string_view const> known_plugins() noexcept { return known; }

opened_network open_plugin(std::string_view name, network_config const& config) {
  std::string file(name);
  if (file.find('/') == std::string::npos) {
    std::vector<std::string> const places =
        places_beside_library("atoll/libatoll-" + std::string(name) + ".so");
    auto const there = std::find_if(places.begin(), places.end(), [](std::string const& each) {
      return ::access(each.c_str(), R_OK) == 0;
    });
    if (there == places.end()) {
      return {nullptr, format("its module is not installed: there is no %s", places.front().c_str())};
    }
    file = *there;
  }
  opened_network result;
  atoll_network_plugin const* const plugin = load(file, result.why_not);
  if (plugin == nullptr) return result;
  std::array<char, 1024> why{};
  result.network.reset(plugin->open(config, why.data(), why.size()));
  if (result.network == nullptr) result.why_not = why.data();
  return result;
}

}  // namespace atl::transport
