#pragma once

/// Which network devices are near which cores. Read from /sys, which is where hwloc has it from: two files for a device, and no library in
/// every rank. Uses nothing but the standard library, so that modules may compile it in.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace atl::transport {

/// A device that is attached to a bus.
struct device_place {
  std::string name;   ///< "mlx5_0", "eth0"
  int numa_node = 0;  ///< -1: the system does not say
  std::string cpus;   ///< hardware threads beside it, as "0-15,32-47"; may be empty
};

/// All there are: adapters, then interfaces, each sorted by name. Virtual ones (lo, veth, bridges) have no place and are left out.
std::vector<device_place> attached_devices(std::string const& sys = "/sys");

/// How far a device is from the nearest of these hardware threads, as the system counts distances between NUMA nodes: 10 is beside it. Also 10 where
/// nothing is known against it. `device` may have a provider in front and a port behind: "tcp/eth0", "mlx5_0:1".
int distance_of(std::string_view device, std::vector<int> const& cpus, std::string const& sys = "/sys");

/// Of a network interface, in bits a second; 0 where the system does not say.
std::uint64_t interface_speed(std::string_view interface, std::string const& sys = "/sys");

/// It joins other interfaces of this machine, as those of containers do.
bool is_bridge(std::string_view interface, std::string const& sys = "/sys");

/// Hardware threads that this process may run on.
std::vector<int> cpus_of_this_process();

}  // namespace atl::transport
