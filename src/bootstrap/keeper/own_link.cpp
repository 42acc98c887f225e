#include "bootstrap/keeper/own_link.hpp"

#include <net/if.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "base/os/interfaces.hpp"

namespace atl::keeping {
namespace {

address address_of(sockaddr const* from) {
  address all{};
  if (from != nullptr && from->sa_family == AF_INET) {
    all.family = 4;
    std::memcpy(all.bytes.data(), &reinterpret_cast<sockaddr_in const*>(from)->sin_addr, sizeof(in_addr));
  } else if (from != nullptr && from->sa_family == AF_INET6) {
    all.family = 6;
    std::memcpy(all.bytes.data(), &reinterpret_cast<sockaddr_in6 const*>(from)->sin6_addr, sizeof(in6_addr));
  }
  return all;
}

bool has(ifaddrs const& interface, address const& which) {
  address const own = address_of(interface.ifa_addr);
  return own.family != 0 && is_same(own, which);
}

}  // namespace

bool is_unplugged(card const& mine) {
  auto const list = os::own_interfaces();
  if (mine.addresses[0].family == 0 || list == nullptr) return false;
  constexpr unsigned works = IFF_UP | IFF_RUNNING;
  for (ifaddrs const* at = list.get(); at != nullptr; at = at->ifa_next) {
    if ((at->ifa_flags & works) == works && std::any_of(mine.addresses.begin(), mine.addresses.end(),
                                                        [&](address const& a) { return has(*at, a); }))
      return false;
  }
  return true;
}

address own_end(int socket) {
  sockaddr_storage at{};
  ::socklen_t bytes = sizeof at;
  bool const known = ::getsockname(socket, reinterpret_cast<sockaddr*>(&at), &bytes) == 0;
  return known ? address_of(reinterpret_cast<sockaddr const*>(&at)) : address{};
}

std::uint32_t interface_of(address const& own) {
  auto const list = os::own_interfaces();
  for (ifaddrs const* at = list.get(); at != nullptr; at = at->ifa_next) {
    if (has(*at, own)) return ::if_nametoindex(at->ifa_name);
  }
  return 0;
}

std::vector<address> addresses_of(std::uint32_t interface) {
  std::vector<address> all;
  auto const list = os::own_interfaces();
  for (ifaddrs const* at = list.get(); at != nullptr; at = at->ifa_next) {
    address const each = address_of(at->ifa_addr);
    if (each.family != 0 && ::if_nametoindex(at->ifa_name) == interface) all.push_back(each);
  }
  return all;
}

std::string name_of_interface(std::uint32_t index) {
  std::array<char, IF_NAMESIZE> name{};
  return ::if_indextoname(index, name.data()) != nullptr ? name.data() : "a further interface";
}

}  // namespace atl::keeping
