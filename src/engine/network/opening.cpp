#include "engine/network/opening.hpp"

#include <errno.h>  // program_invocation_short_name
#include <sys/auxv.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <utility>
#include <vector>

#include <atoll/engine/token.hpp>

#include "base/error.hpp"
#include "base/os/await_end.hpp"
#include "base/os/descriptor_limit.hpp"
#include "base/os/host_name.hpp"
#include "base/settings.hpp"
#include "bootstrap/host_identity.hpp"
#include "engine/network/agreement.hpp"
#include "engine/network/ways_out.hpp"
#include "transport/gpu_places.hpp"
#include "transport/plugins.hpp"

namespace atl::engine {
namespace {

/// What a rank publishes at once (bootstrap::channel).
constexpr std::size_t longest_card = 1024;
constexpr std::size_t longest_host = 32;

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

/// Which build of a module has that place: what stands in the tokens of all its functions, by which ranks call each other.
std::string build_at(void const* place) {
  return format("%08x", static_cast<unsigned>(token_of(place) >> 32));
}

/// Whether a network that joins processes of one running system only will do.
bool may_stay_inside(bool simulated, std::string const& devices) {
  bool const is_named = !devices.empty() && devices != "all";
  // Who gives a host a name may split a machine, whose parts are reached by loop-back.
  return simulated || is_named || !settings::host().empty();
}

/// Opens a network when an interface is there that leads outside. Libraries look for themselves, when a cable may be out again: then once more. Why there is
/// still none is left in `no_way_out`, with a network that stays inside.
transport::opened_network open_when_reached(std::function<transport::opened_network()> const& open,
                                            std::string const& devices, bool inside_will_do,
                                            std::string& no_way_out) {
  constexpr std::uint32_t usual_ms = 10'000;
  constexpr int most_attempts = 3;  // of a library that uses none of what it is given
  std::uint32_t const timeout = settings::host_timeout_ms();
  auto const end =
      std::chrono::steady_clock::now() + std::chrono::milliseconds(timeout != 0 ? timeout : usual_ms);
  transport::opened_network opened;
  for (int attempt = 0; attempt < most_attempts; ++attempt) {
    auto const left = end - std::chrono::steady_clock::now();
    std::string const why =
        await_way_out(devices, std::chrono::duration_cast<std::chrono::milliseconds>(left));
    opened.network.reset();
    opened = open();
    if (opened.network == nullptr && !why.empty()) opened.why_not += " (" + why + ")";
    no_way_out.clear();
    bool const stays_inside = opened.network != nullptr && opened.network->abilities().inside_only;
    if (!stays_inside || inside_will_do) break;
    no_way_out = why.empty() ? "no network device but lo that is used" : why;
    if (!why.empty()) break;
  }
  return opened;
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
    std::function<transport::opened_network(std::string const& name, std::string& no_way_out)> const& open) {
  static std::vector<std::string> among;
  static std::string agreed;
  static bool one_system = false;
  standpoint mine;
  mine.build = build_at(reinterpret_cast<void const*>(&build_at));
  mine.program = program_invocation_short_name;
  mine.program_build = build_at(reinterpret_cast<void const*>(::getauxval(AT_ENTRY)));
  mine.system = format("%llx", static_cast<unsigned long long>(bootstrap::own_network_stack()));
  if (!agreed.empty() && names == among) {
    transport::opened_network again = open(agreed, mine.no_way_out);
    if (one_system || mine.no_way_out.empty()) return again;
    return {nullptr, identity() + " has " + mine.no_way_out};
  }
  transport::opened_network result;
  agreement found = agree_on_network(channel, mine, names, [&](std::string const& name) {
    result.network.reset();
    result = open(name, mine.no_way_out);
    return result.network != nullptr ? std::string() : result.why_not + words_of_few_descriptors();
  });
  if (channel.where().rank == 0 && !found.programs.empty())
    warn(
        "network",
        "hosts have different builds of the program %s. They may compute different things, and cannot call each other's functions: all "
        "hosts need the same, so look for files that are older there",
        found.programs.c_str());
  if (found.name.empty()) return {nullptr, std::move(found.passed_over)};
  among = names;
  agreed = found.name;
  one_system = found.one_system;
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
    config.address_room = longest_card - transport::longest_network_name - longest_host - 1;
    config.one_machine = hosts_are_simulated(channel);
    config.device_memory = settings::network_device_memory();
    bool const inside_will_do = may_stay_inside(config.one_machine, devices);
    auto const open = [&](std::string const& name, std::string& no_way_out) {
      std::string const library = settings::network_library(name);
      config.library = library.c_str();
      auto const now = [&] { return transport::open_plugin(name, config); };
      return config.one_machine ? now() : open_when_reached(now, devices, inside_will_do, no_way_out);
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
  // A card: the network's name, a zero, the host's, a zero, the address.
  std::string card(network->name());
  std::span<std::byte const> const own = network->address();
  card += '\0';
  card += os::host_name().substr(0, longest_host);
  card += '\0';
  card.append(reinterpret_cast<char const*>(own.data()), own.size());
  channel.publish(card);
  return network;
}

card card_of(bootstrap::channel& channel, std::int32_t rank, std::string_view network) {
  std::string const text = channel.published_by(rank);
  std::size_t const end = std::min(text.find('\0'), text.size());
  std::string_view const theirs = std::string_view(text).substr(0, end);
  if (theirs != network) {
    fatal("network", "rank %d uses the network %.*s, and this rank %.*s, although all had agreed on one",
          rank, static_cast<int>(theirs.size()), theirs.data(), static_cast<int>(network.size()),
          network.data());
  }
  std::size_t const host = std::min(end + 1, text.size());
  std::size_t const host_end = std::min(text.find('\0', host), text.size());
  return {text.substr(host, host_end - host), text.substr(std::min(host_end + 1, text.size()))};
}

}  // namespace atl::engine
