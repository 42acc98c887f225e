#pragma once

/// Addresses that hosts give themselves: of the same network everywhere, and of no use without the name of an interface.

#include <netinet/in.h>
#include <sys/socket.h>

#include <cstdint>
#include <cstring>

namespace atl::os {

/// Of an address of either family, whose bytes are all there; false for others.
inline bool is_link_local(sockaddr const& where) noexcept {
  if (where.sa_family == AF_INET) {
    sockaddr_in v4;
    std::memcpy(&v4, &where, sizeof v4);
    constexpr std::uint32_t network = 0xa9fe;  // 169.254
    return ntohl(v4.sin_addr.s_addr) >> 16 == network;
  }
  if (where.sa_family == AF_INET6) {
    sockaddr_in6 v6;
    std::memcpy(&v6, &where, sizeof v6);
    return IN6_IS_ADDR_LINKLOCAL(&v6.sin6_addr);
  }
  return false;
}

}  // namespace atl::os
