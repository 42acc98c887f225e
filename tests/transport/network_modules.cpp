// Networks that are modules, for the suite network_*: opened as libatoll opens them, several in one process, between
// hosts that are one machine. NETWORK names the one of the program, NETWORK_LIBRARY what it opens by itself;
// ATOLL_NET_DEVICES chooses among devices. With NETWORK_TEST_SPACES, network namespaces apart by commas,
// rank r is in the r-th of them; a device must be named then.

#include <cstdlib>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include <dlfcn.h>

#include "network_elsewhere.hpp"
#include "network_fabric.hpp"
#include "transport/plugins.hpp"

namespace atl::transport {
namespace {

/// What is tried beside what a network chooses by itself.
struct other {
  std::string_view network;
  char const* name;
  char const* devices;
};
constexpr other others[] = {{"ofi", "ofi_connectionless", "tcp;ofi_rxm/lo"}};

opened_network open_on(std::string const& devices, std::int32_t rank, std::int32_t ranks,
                       std::uint64_t job = 0) {
  network_config config;
  config.rank = rank;
  config.ranks = ranks;
  config.job = job;
  config.devices = devices.c_str();
  config.one_machine = true;
  return open_plugin(NETWORK, config);
}

/// Where a rank is, in turn; nothing: where the process is.
std::string space_of(std::int32_t rank) {
  char const* const all = std::getenv("NETWORK_TEST_SPACES");
  if (all == nullptr) return {};
  std::vector<std::string> spaces;
  std::istringstream words(all);
  for (std::string space; std::getline(words, space, ',');) spaces.push_back(space);
  return spaces[static_cast<std::size_t>(rank) % spaces.size()];
}

class module_job final : public network_job {
 public:
  module_job(std::int32_t ranks, std::string devices) : ranks_(ranks), devices_(std::move(devices)) {}

  std::unique_ptr<network> open(std::int32_t rank) override {
    auto const open_here = [&] {
      opened_network opened = open_on(devices_, rank, ranks_, number_);
      EXPECT_NE(opened.network, nullptr) << opened.why_not;
      if (opened.network == nullptr) std::abort();
      return std::move(opened.network);
    };
    std::string const space = space_of(rank);
    if (space.empty()) return open_here();
    return std::make_unique<network_elsewhere>(space, open_here);
  }

 private:
  std::int32_t ranks_;
  std::string devices_;
  std::uint64_t number_ = ++jobs_;
  static inline std::uint64_t jobs_ = 0;
};

/// Options are devices; what may follow behind a comma is for others.
std::unique_ptr<network_job> make_module(std::int32_t ranks, std::string const& options) {
  bool const none = options.starts_with("seed=");
  return std::make_unique<module_job>(ranks, none ? std::string() : options.substr(0, options.find(',')));
}

std::string chosen_devices() {
  char const* const devices = std::getenv("ATOLL_NET_DEVICES");
  return devices != nullptr ? devices : "";
}

}  // namespace

std::vector<network_kind> network_kinds() {
  std::vector<network_kind> kinds{{NETWORK, make_module, chosen_devices()}};
  if (!chosen_devices().empty()) return kinds;
  for (other const& each : others) {
    if (each.network == NETWORK) kinds.push_back({each.name, make_module, each.devices});
  }
  return kinds;
}

std::string why_no_network() {
  // By the module first, to which it belongs to see to what its library does when it is loaded.
  if (open_on(chosen_devices(), 0, 1).network != nullptr) return {};
  if (::dlopen(NETWORK_LIBRARY, RTLD_NOW | RTLD_LOCAL) != nullptr) return {};  // then tests say what fails
  char const* const why = ::dlerror();
  return why != nullptr ? why : NETWORK_LIBRARY " cannot be opened";
}

}  // namespace atl::transport
