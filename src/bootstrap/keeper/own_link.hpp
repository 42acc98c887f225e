#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bootstrap/keeper/orders.hpp"

namespace atl::keeping {

/// The cable of this host is out, or its interfaces are down: all of those that have the addresses. False where that cannot be known.
bool is_unplugged(card const& mine);

/// Whatever the port.
inline bool is_same(address const& a, address const& b) { return a.family == b.family && a.bytes == b.bytes; }

/// This side's end of a connection: its address without a port. Family 0 where that cannot be known.
address own_end(int socket);
/// The interface that has an address, as an index; 0: none.
std::uint32_t interface_of(address const& own);
std::vector<address> addresses_of(std::uint32_t interface);
/// "eth1"
std::string name_of_interface(std::uint32_t index);

}  // namespace atl::keeping
