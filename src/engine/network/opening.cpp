#include "engine/network/opening.hpp"

#include <algorithm>
#include <chrono>
#include <functional>
#include <utility>
#include <vector>

#include <atoll/engine/token.hpp>

#include "base/error.hpp"
#include "base/os/await_end.hpp"
#include "base/os/descriptor_limit.hpp"
#include "base/settings.hpp"
#include "engine/network/agreement.hpp"
#include "transport/gpu_places.hpp"
#include "transport/plugins.hpp"

namespace atl::engine {
namespace {

/// What a rank publishes at once (bootstrap::channel).
constexpr std::size_t longest_card = 1024;

/// Over TCP each connection is a descriptor, as are two for each further device; and libraries do badly where there is none for one that comes: UCX stops listening, libfabric
/// lets the peer wait. What the program and the rest of the library need comes on top.
constexpr std::uint64_t descriptors_beside_connections = 512;
constexpr std::uint64_t descriptors_of_a_peer = 8;

bool hosts_are_simulated(bootstrap::channel& channel) {
  return channel.where().hosts > 1 && channel.machine().hosts == 1;
}

/// Between simulated hosts the simulated network, unless something else is named.
std::vector<std::string> wanted_networks(bool simulated) {
  std::vector<std::string> names = settings::transports();
  if (!names.empty()) return names;
  if (simulated) return {"sim"};
  for (std::string_view const each : transport::known_plugins()) names.emplace_back(each);
  return names;
}

/// Was a file named for a network that is not used?
bool chosen_in_vain(std::vector<std::string> const& names, std::string const& used) {
  for (std::string const& name : names) {
    if (name == used) return false;
    if (!settings::network_library(name).empty()) return true;
  }
  return false;
}

/// Which libatoll this is: what stands in the tokens of all its functions, by which ranks call each other.
std::string own_build() {
  return format("%08x", static_cast<unsigned>(token_of(reinterpret_cast<void const*>(&own_build)) >> 32));
}

/// Libraries say "Input/output error" where they find no descriptor, and give back those they have had.
std::string words_of_few_descriptors() {
  constexpr std::uint64_t few = 32;
  std::uint64_t const left = os::descriptors_left();
  if (left >= few) return {};
  return format(
      " (of %llu files that this rank may have open %llu are left; if that is why, raise the limit, ulimit -n)",
      static_cast<unsigned long long>(os::descriptor_limit()), static_cast<unsigned long long>(left));
}

/// Opens the network that the job agrees on. Later periods of the process find the same without meeting again.
transport::opened_network open_among(
    bootstrap::channel& channel, std::vector<std::string> const& names,
    std::function<transport::opened_network(std::string const&)> const& open) {
  static std::vector<std::string> among;
  static std::string agreed;
  if (!agreed.empty() && names == among) return open(agreed);
  transport::opened_network result;
  agreement found = agree_on_network(channel, own_build(), names, [&](std::string const& name) {
    result.network.reset();
    result = open(name);
    return result.network != nullptr ? std::string() : result.why_not + words_of_few_descriptors();
  });
  if (found.name.empty()) return {nullptr, std::move(found.passed_over)};
  among = names;
  agreed = found.name;
  bool const worth_saying = !found.passed_over.empty() &&
                            (found.has_better || chosen_in_vain(names, agreed) || settings::verbosity() > 0);
  if (channel.where().rank == 0 && worth_saying)
    warn("network", "between hosts the job uses %s, as not all ranks have what comes before it: %s",
         agreed.c_str(), found.passed_over.c_str());
  return result;
}

}  // namespace

std::unique_ptr<simulated_machine> join_simulated(bootstrap::channel& channel) {
  if (!hosts_are_simulated(channel) || wanted_networks(true).front() != "sim") return nullptr;
  return std::make_unique<simulated_machine>(channel);
}

std::unique_ptr<transport::network> open_network(bootstrap::channel& channel, simulated_machine* machine) {
  bootstrap::placement const& place = channel.where();
  if (place.hosts == 1) return nullptr;
  static_cast<void>(
      settings::host_timeout_ms());  // what is wrong with it is said now, and not when a peer is lost
  std::unique_ptr<transport::network> network;
  if (machine != nullptr) {
    network = machine->open();
  } else {
    auto const others = static_cast<std::uint64_t>(place.size - place.local_size);
    os::want_descriptors(descriptors_beside_connections + descriptors_of_a_peer * others);
    std::vector<std::string> names = wanted_networks(hosts_are_simulated(channel));
    bool const simulated = std::erase(names, "sim") != 0;
    std::string const devices = settings::network_devices();
    std::string const gpu = transport::gpu_of_rank(place.local_rank);
    transport::network_config config;
    config.rank = place.rank;
    config.ranks = place.size;
    config.job = std::hash<std::string_view>{}(channel.job_id());
    config.devices = devices.c_str();
    config.gpu = gpu.c_str();
    config.address_room = longest_card - transport::longest_network_name;
    config.one_machine = hosts_are_simulated(channel);
    config.device_memory = settings::network_device_memory();
    auto const open = [&](std::string const& name) {
      std::string const library = settings::network_library(name);
      config.library = library.c_str();
      return transport::open_plugin(name, config);
    };
    transport::opened_network opened = open_among(channel, names, open);
    if (opened.network == nullptr) {
      if (simulated) opened.why_not += opened.why_not.empty() ? "" : "; ";
      if (simulated) opened.why_not += "sim: only between simulated hosts";
      // All ranks have the same words: the first one says them, and launchers and keepers end the others before they do.
      if (place.rank != 0) os::await_end(std::chrono::seconds(3));
      throw startup_error(format(
          "the job spans %d hosts, and no network can be used by all ranks: %s. Start the job on one host, or see "
          "`atoll info` on those hosts.",
          place.hosts, opened.why_not.c_str()));
    }
    network = std::move(opened.network);
  }
  // A card: the network's name, a zero, the address.
  std::string card(network->name());
  std::span<std::byte const> const own = network->address();
  card += '\0';
  card.append(reinterpret_cast<char const*>(own.data()), own.size());
  channel.publish(card);
  return network;
}

std::string address_of(bootstrap::channel& channel, std::int32_t rank, std::string_view network) {
  std::string card = channel.published_by(rank);
  std::size_t const end = std::min(card.find('\0'), card.size());
  std::string_view const theirs = std::string_view(card).substr(0, end);
  if (theirs != network) {
    fatal("network", "rank %d uses the network %.*s, and this rank %.*s, although all had agreed on one",
          rank, static_cast<int>(theirs.size()), theirs.data(), static_cast<int>(network.size()),
          network.data());
  }
  card.erase(0, end + 1);
  return card;
}

}  // namespace atl::engine
