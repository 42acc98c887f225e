// What processes are connected by, from /proc. Libraries that choose among interfaces do not say which ones they take, and what UCX says of
// TCP (ucp_ep_print_info) is not what the system then does, as it binds no connection to a device.

#include "bootstrap/keeper/connections.hpp"

#include <netinet/tcp.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "base/os/tcp_table.hpp"
#include "bootstrap/keeper/own_link.hpp"

namespace atl::keeping {
namespace {

address address_of(os::tcp_end const& end) {
  address where{};
  where.family = end.family;
  where.bytes = end.bytes;
  // Sockets for both families have addresses of the older one inside those of the newer.
  constexpr std::array<std::uint8_t, 12> mapped{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
  if (where.family == 6 && std::equal(mapped.begin(), mapped.end(), where.bytes.begin())) {
    std::copy(where.bytes.begin() + mapped.size(), where.bytes.end(), where.bytes.begin());
    std::fill(where.bytes.begin() + 4, where.bytes.end(), std::uint8_t{0});
    where.family = 4;
  }
  return where;
}

}  // namespace

std::unordered_set<std::uint64_t> connections_over(std::uint32_t interface) {
  std::unordered_set<std::uint64_t> sockets;
  std::vector<address> const own = addresses_of(interface);
  for (os::tcp_socket const& each : os::tcp_sockets()) {
    bool const connected = each.state == TCP_ESTABLISHED || each.state == TCP_SYN_SENT;
    address const at = address_of(each.local);
    if (connected && each.inode != 0 &&
        std::any_of(own.begin(), own.end(), [&](address const& a) { return is_same(a, at); }))
      sockets.insert(each.inode);
  }
  return sockets;
}

bool has_one_of(::pid_t process, std::unordered_set<std::uint64_t> const& sockets) {
  if (sockets.empty()) return false;
  auto const open = os::sockets_of(process);
  return open && std::any_of(open->begin(), open->end(),
                             [&](std::uint64_t socket) { return sockets.contains(socket); });
}

}  // namespace atl::keeping
