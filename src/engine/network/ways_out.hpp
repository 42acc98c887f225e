#pragma once

/// Whether this host has an interface by which others reach it. While a cable is out there is only the loop-back device, which libraries
/// then take; and who listens there is not reached when the cable is back.

#include <chrono>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace atl::engine {

/// A network interface of this host: not loop-back, nor a bridge of guests, nor what belongs to another interface.
struct way_out {
  std::string name;  ///< "eth0"
  bool is_up = false;
  bool has_carrier = false;
  bool has_address = false;  ///< of IPv4 or IPv6, which is not a link-local one
};

/// All of them; `sys`, `routes`: files of the system, for tests.
std::vector<way_out> ways_out(std::string const& sys = "/sys", std::string const& routes = "/proc/net/route");

/// Nothing where one of them can be used, or nobody can tell; else why not: "no network device but lo: eth0 has no carrier". `devices`: what
/// ATOLL_NET_DEVICES names; then these alone count, and what is no interface of the list is taken for one that can be used.
std::string why_no_way_out(std::vector<way_out> const& all, std::string_view devices);

/// Looks until there is one, or for `patience`; where no interface is there that may yet come, once. As why_no_way_out().
std::string await_way_out(
    std::string_view devices, std::chrono::milliseconds patience,
    std::function<std::vector<way_out>()> const& look = [] { return ways_out(); });

}  // namespace atl::engine
