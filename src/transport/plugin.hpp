#pragma once

/// What a transport between hosts that needs a library of its own is to libatoll: a shared module, opened at run time, whose
/// one visible function gives what is below. Both sides are compiled from this header; a module of another version is
/// refused before anything of it is called.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "transport/network.hpp"

namespace atl::transport {

/// To be raised with every change of network.hpp, network_types.hpp or this file.
inline constexpr std::uint32_t plugin_version = 7;
/// So that a change of the types is noticed although nobody has thought of the number.
inline constexpr std::uint32_t plugin_types = static_cast<std::uint32_t>(
    sizeof(operation) ^ sizeof(abilities) << 4 ^ sizeof(limits) << 8 ^ sizeof(message_sizes) << 12 ^
    sizeof(arrival) << 16 ^ sizeof(network_buffer) << 20 ^ sizeof(std::string) << 24);

/// Of network::name(), with the zero behind it.
inline constexpr std::size_t longest_network_name = 16;

/// What a network is opened for.
struct network_config {
  std::int32_t rank = 0;
  std::int32_t ranks = 1;
  /// The same on all ranks of a job, and another one in every other: ports are used again, and calls may be meant for who had
  /// them before.
  std::uint64_t job = 0;
  char const* devices = "";  ///< names, separated by commas; empty: the library chooses
  char const* gpu = "";      ///< bus address of the one that this rank is to use, if it is known
  char const* library = "";  ///< file to open instead of the usual one
  std::size_t address_room = ~std::size_t{0};  ///< longest address() that can be passed on
  bool one_machine = false;  ///< its hosts are simulated: nothing may go by memory that they share
  /// The network is to read and write device memory, or is not to; nothing: where an adapter does it.
  std::optional<bool> device_memory;
};

extern "C" {

struct atoll_network_plugin {
  std::uint32_t version = plugin_version;
  std::uint32_t types = plugin_types;
  char const* name = "";
  /// A network, or null and words in `why`. Throws nothing.
  network* (*open)(network_config const& config, char* why, std::size_t room) noexcept = nullptr;
};

/// Its name in the module.
using atoll_network_plugin_function = atoll_network_plugin const* (*)();

}  // extern "C"

inline constexpr char const* plugin_symbol = "atoll_network_plugin_1";

}  // namespace atl::transport
