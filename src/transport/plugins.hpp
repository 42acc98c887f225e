#pragma once

/// Networks that are modules of their own (plugin.hpp): finds and opens them, or says why not. Only jobs of several hosts do
/// so; nothing of a module or its library is in the process before.

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "transport/network.hpp"
#include "transport/plugin.hpp"

namespace atl::transport {

/// Names of those that belong to Atoll, the better ones first.
std::span<std::string_view const> known_plugins() noexcept;

struct opened_network {
  std::unique_ptr<transport::network> network;
  std::string why_not;  ///< if it is null
};

/// A network of a plugin: a name that is known, whose module lies in a folder `atoll` beside libatoll; or a path, with
/// a slash, to any module. The module stays in the process.
opened_network open_plugin(std::string_view name, network_config const& config);

}  // namespace atl::transport
