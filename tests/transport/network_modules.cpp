// Networks that are modules, for the suite network_*: opened as libatoll opens them, several in one process, between
// hosts that are one machine.

#include <cstdlib>

#include <dlfcn.h>

#include "network_fabric.hpp"
#include "transport/plugins.hpp"

namespace atl::transport {
namespace {

class module_job final : public network_job {
 public:
  module_job(std::int32_t ranks, std::string name) : ranks_(ranks), name_(std::move(name)) {}

  std::unique_ptr<network> open(std::int32_t rank) override {
    network_config config;
    config.rank = rank;
    config.ranks = ranks_;
    config.one_machine = true;
    opened_network opened = open_plugin(name_, config);
    EXPECT_NE(opened.network, nullptr) << opened.why_not;
    if (opened.network == nullptr) std::abort();
    return std::move(opened.network);
  }

 private:
  std::int32_t ranks_;
  std::string name_;
};

std::unique_ptr<network_job> make_ucx(std::int32_t ranks, std::string const& /*options*/) {
  return std::make_unique<module_job>(ranks, "ucx");
}

}  // namespace

std::vector<network_kind> network_kinds() { return {{"ucx", make_ucx, ""}}; }

std::string why_no_network() {
  network_config config;
  config.one_machine = true;
  // By the module first, to which it belongs to see to what libucp does when it is loaded.
  if (open_plugin("ucx", config).network != nullptr) return {};
  if (::dlopen("libucp.so.0", RTLD_NOW | RTLD_LOCAL) != nullptr) return {};  // then tests say what fails
  char const* const why = ::dlerror();
  return why != nullptr ? why : "libucp cannot be opened";
}

}  // namespace atl::transport
