#include "bootstrap/keeper/own_link.hpp"

#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>

#include <algorithm>
#include <cstring>
#include <memory>

namespace atl::keeping {
namespace {

bool has(ifaddrs const& interface, address const& which) {
  if (interface.ifa_addr == nullptr) return false;
  if (which.family == 4 && interface.ifa_addr->sa_family == AF_INET) {
    auto const& in = *reinterpret_cast<sockaddr_in const*>(interface.ifa_addr);
    return std::memcmp(&in.sin_addr, which.bytes.data(), sizeof in.sin_addr) == 0;
  }
  if (which.family == 6 && interface.ifa_addr->sa_family == AF_INET6) {
    auto const& in = *reinterpret_cast<sockaddr_in6 const*>(interface.ifa_addr);
    return std::memcmp(&in.sin6_addr, which.bytes.data(), sizeof in.sin6_addr) == 0;
  }
  return false;
}

}  // namespace

bool is_unplugged(card const& mine) {
  ifaddrs* list = nullptr;
  if (mine.addresses[0].family == 0 || ::getifaddrs(&list) != 0) return false;
  std::unique_ptr<ifaddrs, void (*)(ifaddrs*)> const owner(list, &::freeifaddrs);
  constexpr unsigned works = IFF_UP | IFF_RUNNING;
  for (ifaddrs const* at = list; at != nullptr; at = at->ifa_next) {
    if ((at->ifa_flags & works) == works && std::any_of(mine.addresses.begin(), mine.addresses.end(),
                                                        [&](address const& a) { return has(*at, a); }))
      return false;
  }
  return true;
}

}  // namespace atl::keeping
