#pragma once

/// Which devices of those that libfabric lists are used: the first one, and others as rails beside it. Looks at the list and at /sys
/// only; what is asked of libfabric is devices.cpp's affair.

#include <cstddef>
#include <string>
#include <vector>

#include <rdma/fabric.h>

namespace atl::transport::ofi {

/// Devices that are used together, the best one included.
inline constexpr std::size_t most_rails = 4;

/// "tcp/eth0"
std::string name_of(fi_info const& info);

bool same_provider(fi_info const& a, fi_info const& b);

/// It can be used without being told more: not an address that leads nowhere from here.
bool is_usable(fi_info const& info);

/// The best of a list, of equal ones that which is nearest to this process; null if there is none. `devices`: ATOLL_NET_DEVICES.
fi_info const* best_of(fi_info const* list, std::string const& devices);

/// Those of the list that are as good as the best one, which is not among them, each once.
std::vector<fi_info const*> alike(fi_info const* list, fi_info const& best, std::string const& devices);

}  // namespace atl::transport::ofi
