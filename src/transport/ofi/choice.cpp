#include "transport/ofi/choice.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <sstream>
#include <string_view>

#include <rdma/fi_domain.h>

#include "transport/nearest_devices.hpp"

namespace atl::transport::ofi {
namespace {

/// The lower, the better: what others can reach, IPv4 first. Negative: of no use, as it needs to be told a device.
int rank_of(fi_info const& info) {
  auto const* const address = static_cast<sockaddr const*>(info.src_addr);
  if (address == nullptr) return 2;
  if (address->sa_family == AF_INET && info.src_addrlen >= sizeof(sockaddr_in)) {
    std::uint32_t const host = ntohl(reinterpret_cast<sockaddr_in const*>(address)->sin_addr.s_addr);
    if (host >> 16 == 0xa9fe) return -1;  // 169.254/16
    return host >> 24 == 127 ? 3 : 0;
  }
  if (address->sa_family == AF_INET6 && info.src_addrlen >= sizeof(sockaddr_in6)) {
    in6_addr const& host = reinterpret_cast<sockaddr_in6 const*>(address)->sin6_addr;
    if (IN6_IS_ADDR_LINKLOCAL(&host)) return -1;
    return IN6_IS_ADDR_LOOPBACK(&host) ? 4 : 1;
  }
  return 2;
}

/// Bits a second; 0: unknown.
std::uint64_t speed_of(fi_info const& info) {
  if (info.nic != nullptr && info.nic->link_attr != nullptr && info.nic->link_attr->speed != 0) {
    return info.nic->link_attr->speed;
  }
  return interface_speed(info.domain_attr->name);
}

/// "eth0", "tcp/eth0", or "mlx5_0:1" with the port behind it, as UCX names devices.
bool is_named(fi_info const& info, std::string const& devices) {
  if (devices.empty() || devices == "all") return true;
  std::istringstream names(devices);
  for (std::string name; std::getline(names, name, ',');) {
    std::string const without_port = name.substr(0, name.find(':'));
    for (std::string const& one : {name, without_port}) {
      if (one == info.domain_attr->name || one == name_of(info)) return true;
    }
  }
  return false;
}

}  // namespace

std::string name_of(fi_info const& info) {
  return std::string(info.fabric_attr->prov_name) + "/" + info.domain_attr->name;
}

bool same_provider(fi_info const& a, fi_info const& b) {
  return std::strcmp(a.fabric_attr->prov_name, b.fabric_attr->prov_name) == 0;
}

bool is_usable(fi_info const& info) { return rank_of(info) >= 0; }

fi_info const* best_of(fi_info const* list, std::string const& devices) {
  auto const distance = [](fi_info const& info) {
    return distance_of(info.domain_attr->name, cpus_of_this_process());
  };
  fi_info const* best = nullptr;
  for (fi_info const* each = list; each != nullptr; each = each->next) {
    int const rank = rank_of(*each);
    if (rank < 0 || !is_named(*each, devices)) continue;
    bool const loops = rank >= 3;
    bool const best_loops = best != nullptr && rank_of(*best) >= 3;
    if (best == nullptr || (best_loops && !loops)) {
      best = each;
    } else if (same_provider(*best, *each) && rank <= rank_of(*best)) {
      if (rank < rank_of(*best) || distance(*each) < distance(*best)) best = each;
    }
  }
  return best;
}

std::vector<fi_info const*> alike(fi_info const* list, fi_info const& best, std::string const& devices) {
  std::vector<fi_info const*> found;
  std::vector<int> const cpus = cpus_of_this_process();
  std::string_view const best_name = best.domain_attr->name;
  std::uint64_t const speed = speed_of(best);
  bool const named = !devices.empty() && devices != "all";
  if (rank_of(best) >= 3 || (speed == 0 && !named)) return found;
  int const distance = distance_of(best_name, cpus);
  for (fi_info const* each = list; each != nullptr && found.size() + 1 < most_rails; each = each->next) {
    std::string_view const name = each->domain_attr->name;
    auto const has_it = [&](fi_info const* other) { return name == other->domain_attr->name; };
    if (name == best_name || std::any_of(found.begin(), found.end(), has_it)) continue;
    bool const good = rank_of(*each) == rank_of(best) && same_provider(*each, best) &&
                      is_named(*each, devices) && speed_of(*each) == speed && !is_bridge(name) &&
                      distance_of(name, cpus) == distance;
    if (good) found.push_back(each);
  }
  return found;
}

}  // namespace atl::transport::ofi
