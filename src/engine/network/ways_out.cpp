#include "engine/network/ways_out.hpp"

#include <net/if.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <thread>

#include "base/os/interfaces.hpp"
#include "base/os/link_local.hpp"
#include "transport/nearest_devices.hpp"
#include "transport/system_files.hpp"

namespace atl::engine {
namespace {

constexpr std::chrono::milliseconds between_looks{50};

/// Tunnels that wait for their configuration and the like never come by themselves: of Ethernet (1) and InfiniBand (32), as the system numbers them.
bool may_lead_outside(std::string const& name, std::string const& sys, std::string const& routes) {
  std::string const folder = sys + "/class/net/" + name;
  int const type = transport::number_in(transport::line_of(folder + "/type")).value_or(1);
  bool const is_part = ::access((folder + "/master").c_str(), F_OK) == 0;
  return (type == 1 || type == 32) && !is_part && !transport::joins_guests_only(name, sys, routes);
}

/// Some reach other hosts without any interface.
bool has_adapters(std::string const& sys) {
  namespace fs = std::filesystem;
  std::error_code none;
  for (char const* const kind : {"/class/infiniband", "/class/cxi"}) {
    if (fs::directory_iterator(sys + kind, none) != fs::directory_iterator()) return true;
  }
  return false;
}

bool can_be_used(way_out const& w) { return w.is_up && w.has_carrier && w.has_address; }

std::string state_of(way_out const& w) {
  return w.name + (!w.is_up ? " is down" : !w.has_carrier ? " has no carrier" : " has no address");
}

}  // namespace

std::vector<way_out> ways_out(std::string const& sys, std::string const& routes) {
  std::vector<way_out> all;
  if (has_adapters(sys)) return {{"an adapter", true, true, true}};
  auto const list = os::own_interfaces();
  if (list == nullptr) return {{"unknown", true, true, true}};
  for (ifaddrs const* at = list.get(); at != nullptr; at = at->ifa_next) {
    if ((at->ifa_flags & IFF_LOOPBACK) != 0) continue;
    auto known =
        std::find_if(all.begin(), all.end(), [&](way_out const& w) { return w.name == at->ifa_name; });
    if (known == all.end()) {
      if (!may_lead_outside(at->ifa_name, sys, routes)) continue;
      way_out const found{at->ifa_name, (at->ifa_flags & IFF_UP) != 0, (at->ifa_flags & IFF_RUNNING) != 0};
      known = all.insert(all.end(), found);
    }
    bool const is_ip = at->ifa_addr != nullptr &&
                       (at->ifa_addr->sa_family == AF_INET || at->ifa_addr->sa_family == AF_INET6);
    if (is_ip && !os::is_link_local(*at->ifa_addr)) known->has_address = true;
  }
  return all;
}

std::string why_no_way_out(std::vector<way_out> const& all, std::string_view devices) {
  std::vector<way_out> named;
  if (devices == "all") devices = {};
  while (!devices.empty()) {
    std::size_t const end = std::min(devices.find(','), devices.size());
    std::string const name = transport::bare_name(devices.substr(0, end));
    auto const it = std::find_if(all.begin(), all.end(), [&](way_out const& w) { return w.name == name; });
    if (it == all.end()) return {};
    named.push_back(*it);
    devices.remove_prefix(std::min(end + 1, devices.size()));
  }
  std::vector<way_out> const& wanted = named.empty() ? all : named;
  if (std::any_of(wanted.begin(), wanted.end(), can_be_used)) return {};
  std::string states;
  for (way_out const& each : wanted) states += (states.empty() ? "" : ", ") + state_of(each);
  if (!named.empty()) return states;
  return "no network device but lo" + (states.empty() ? states : ": " + states);
}

std::string await_way_out(std::string_view devices, std::chrono::milliseconds patience,
                          std::function<std::vector<way_out>()> const& look) {
  auto const end = std::chrono::steady_clock::now() + patience;
  for (;;) {
    std::vector<way_out> const all = look();
    std::string why = why_no_way_out(all, devices);
    if (why.empty() || all.empty() || std::chrono::steady_clock::now() >= end) return why;
    std::this_thread::sleep_for(between_looks);
  }
}

}  // namespace atl::engine
