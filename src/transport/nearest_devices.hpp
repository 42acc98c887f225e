#pragma once

/// Which network devices are near which cores and which GPU. Read from /sys, which is where hwloc has it from: two files for a device, and no library in
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

/// A device's own name; it may have a provider in front and something behind: "tcp/eth0", "mlx5_0:1", "efa_0-rdm".
std::string bare_name(std::string_view device);

/// How far a device is from the nearest of these hardware threads, as the system counts distances between NUMA nodes: 10 is beside it. Also 10 where
/// nothing is known against it. `device`: as for bare_name().
int distance_of(std::string_view device, std::vector<int> const& cpus, std::string const& sys = "/sys");

/// How near a device is to a GPU.
struct gpu_nearness {
  int bridges =
      0;  ///< of the bus, above both: where there are any both are under a switch; the more, the nearer it is
  int distance = 10;  ///< between their NUMA nodes, as above
};

/// `gpu`: its bus address, "0000:1b:00.0". What is not known counts as no bridge, and nothing against it.
gpu_nearness nearness_to_gpu(std::string_view device, std::string_view gpu, std::string const& sys = "/sys");

/// The first is nearer than the second: under the same switch, else in a nearer NUMA node.
constexpr bool nearer(gpu_nearness const& a, gpu_nearness const& b) noexcept {
  return a.bridges != b.bridges ? a.bridges > b.bridges : a.distance < b.distance;
}

/// Of a network interface, in bits a second; 0 where the system does not say.
std::uint64_t interface_speed(std::string_view interface, std::string const& sys = "/sys");

/// It joins other interfaces of this machine, as those of containers do.
bool is_bridge(std::string_view interface, std::string const& sys = "/sys");

/// A bridge that joins containers or virtual machines and leads no farther, like docker0 and virbr0: below it is nothing on a bus, and
/// the host reaches others without it. It mostly has the same address on each host, so that who connects to it finds itself.
bool joins_guests_only(std::string_view interface, std::string const& sys = "/sys",
                       std::string const& routes = "/proc/net/route");

/// Hardware threads that this process may run on.
std::vector<int> cpus_of_this_process();

}  // namespace atl::transport
