// Networks that are modules, for the suite network_*: opened as libatoll opens them, several in one process, between
// hosts that are one machine. NETWORK names the one of the program, NETWORK_LIBRARY what it opens by itself;
// ATOLL_NET_DEVICES chooses among devices. With NETWORK_TEST_SPACES, network namespaces apart by commas,
// rank r is in the r-th of them; a device must be named then.

#include <cstdlib>
#include <sstream>
#include <string>
#include <vector>

#include <dlfcn.h>

#include "network_elsewhere.hpp"
#include "network_fabric.hpp"
#include "transport/plugins.hpp"

namespace atl::transport {
namespace {

network_config config_of_this_machine() {
  char const* const devices = std::getenv("ATOLL_NET_DEVICES");
  network_config config;
  config.devices = devices != nullptr ? devices : "";
  config.one_machine = true;
  return config;
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
  module_job(std::int32_t ranks, std::string name) : ranks_(ranks), name_(std::move(name)) {}

  std::unique_ptr<network> open(std::int32_t rank) override {
    network_config config = config_of_this_machine();
    config.rank = rank;
    config.ranks = ranks_;
    auto const open_here = [&] {
      opened_network opened = open_plugin(name_, config);
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
  std::string name_;
};

std::unique_ptr<network_job> make_module(std::int32_t ranks, std::string const& /*options*/) {
  return std::make_unique<module_job>(ranks, NETWORK);
}

}  // namespace

std::vector<network_kind> network_kinds() { return {{NETWORK, make_module, ""}}; }

std::string why_no_network() {
  network_config const config = config_of_this_machine();
  // By the module first, to which it belongs to see to what its library does when it is loaded.
  if (open_plugin(NETWORK, config).network != nullptr) return {};
  if (::dlopen(NETWORK_LIBRARY, RTLD_NOW | RTLD_LOCAL) != nullptr) return {};  // then tests say what fails
  char const* const why = ::dlerror();
  return why != nullptr ? why : NETWORK_LIBRARY " cannot be opened";
}

}  // namespace atl::transport
