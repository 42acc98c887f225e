#pragma once

/// Which devices of those that libfabric lists are used: the first one, and others as rails beside it. Looks at the list and at /sys
/// only; what is asked of libfabric is devices.cpp's affair.
///
/// The best of the list by address and provider, of equal ones the nearest to the cores. Of those that are as good and as fast, the
/// nearest to the rank's GPU: all are rails that are as near to it as the first, but none that is farther, so that ranks with a GPU and
/// an adapter each do not share all adapters. The GPU never takes the first device to another network, nor to a slower device: ranks with
/// different GPUs have to reach each other. Where devices are named it is not asked.

#include <cstddef>
#include <string>
#include <vector>

#include <rdma/fabric.h>

namespace atl::transport::ofi {

/// Devices that are used together, the best one included.
inline constexpr std::size_t most_rails = 4;

/// What devices are to be near to.
struct surroundings {
  std::vector<int> cpus;  ///< hardware threads that this process may run on
  std::string gpu;        ///< bus address of the rank's; empty: it has none, or nobody knows
  std::string sys = "/sys";
  std::string routes = "/proc/net/route";
};

struct choice {
  fi_info const* first = nullptr;     ///< null: there is none
  std::vector<fi_info const*> alike;  ///< each device once
  std::string why;  ///< "beside GPU 0000:1b:00.0", where that has left others out; else empty
};

/// `devices`: ATOLL_NET_DEVICES.
choice choose_among(fi_info const* list, std::string const& devices, surroundings const& here);

/// "tcp/eth0"
std::string name_of(fi_info const& info);

bool same_provider(fi_info const& a, fi_info const& b);

/// It can be used without being told more: not an address that leads nowhere from here.
bool is_usable(fi_info const& info);

/// It leads to the own host only.
bool is_loop_back(fi_info const& info);

}  // namespace atl::transport::ofi
