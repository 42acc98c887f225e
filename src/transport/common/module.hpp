#pragma once

/// What a module of a network brings for module.cpp, which is compiled into each of them and opens it for libatoll.

#include <cstdlib>
#include <initializer_list>
#include <memory>
#include <string>

#include "transport/plugin.hpp"

namespace atl::transport {

/// Of network::name().
extern char const* const module_name;

/// A network; or null, and why not in `problem`. May throw.
std::unique_ptr<network> open_network(network_config const& config, std::string& problem);

/// Names of the devices that are to be used; empty: the library chooses. Simulated hosts are joined by the loop-back device.
inline std::string wanted_devices(network_config const& config) {
  bool const loops = *config.devices == '\0' && config.one_machine;
  return loops ? "lo" : config.devices;
}

/// Behind the words that nothing was found: variables of the library itself that were set for another program, or another machine, may be why.
inline std::string own_settings(std::initializer_list<char const*> names) {
  std::string text;
  for (char const* const name : names) {
    if (char const* const value = std::getenv(name); value != nullptr)
      text += (text.empty() ? " (set: " : ", ") + std::string(name) + "=" + value;
  }
  return text.empty() ? text : text + ")";
}

}  // namespace atl::transport
