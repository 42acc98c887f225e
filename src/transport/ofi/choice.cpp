#include "transport/ofi/choice.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <sstream>
#include <string_view>

#include <rdma/fi_domain.h>

#include "base/os/link_local.hpp"
#include "transport/nearest_devices.hpp"

namespace atl::transport::ofi {
namespace {

/// Of rank_of(), from here on: bridges of guests, which a host may yet share with its virtual machines; and what leads to the own host only.
constexpr int bridges = 3;
constexpr int loops = 6;

/// The lower, the better: what others can reach, IPv4 first. Negative: of no use, as it needs to be told a device.
int rank_of(fi_info const& info) {
  auto const* const address = static_cast<sockaddr const*>(info.src_addr);
  if (address == nullptr) return 2;
  if (address->sa_family == AF_INET && info.src_addrlen >= sizeof(sockaddr_in)) {
    std::uint32_t const host = ntohl(reinterpret_cast<sockaddr_in const*>(address)->sin_addr.s_addr);
    if (os::is_link_local(*address)) return -1;
    return host >> 24 == 127 ? loops : 0;
  }
  if (address->sa_family == AF_INET6 && info.src_addrlen >= sizeof(sockaddr_in6)) {
    in6_addr const& host = reinterpret_cast<sockaddr_in6 const*>(address)->sin6_addr;
    if (os::is_link_local(*address)) return -1;
    return IN6_IS_ADDR_LOOPBACK(&host) ? loops + 1 : 1;
  }
  return 2;
}

int rank_of(fi_info const& info, surroundings const& here) {
  int const rank = rank_of(info);
  bool const outside = rank >= 0 && rank < bridges;
  return outside && joins_guests_only(info.domain_attr->name, here.sys, here.routes) ? rank + bridges : rank;
}

/// Bits a second; 0: unknown.
std::uint64_t speed_of(fi_info const& info, surroundings const& here) {
  if (info.nic != nullptr && info.nic->link_attr != nullptr && info.nic->link_attr->speed != 0) {
    return info.nic->link_attr->speed;
  }
  return interface_speed(info.domain_attr->name, here.sys);
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

bool names_some(std::string const& devices) { return !devices.empty() && devices != "all"; }

bool same_network(fi_info const& a, fi_info const& b) {
  char const* const one = a.fabric_attr->name;
  char const* const other = b.fabric_attr->name;
  return one != nullptr && other != nullptr && std::strcmp(one, other) == 0;
}

/// The best of the list, of equal ones that which is nearest to the cores.
fi_info const* best_of(fi_info const* list, std::string const& devices, surroundings const& here) {
  auto const distance = [&](fi_info const& info) {
    return distance_of(info.domain_attr->name, here.cpus, here.sys);
  };
  fi_info const* best = nullptr;
  for (fi_info const* each = list; each != nullptr; each = each->next) {
    int const rank = rank_of(*each, here);
    if (rank < 0 || !is_named(*each, devices)) continue;
    int const best_rank = best != nullptr ? rank_of(*best, here) : 0;
    if (best == nullptr || (best_rank >= bridges && rank < bridges) || (best_rank >= loops && rank < loops)) {
      best = each;
    } else if (same_provider(*best, *each) && rank <= best_rank) {
      if (rank < best_rank || distance(*each) < distance(*best)) best = each;
    }
  }
  return best;
}

struct candidate {
  fi_info const* info;
  gpu_nearness to_gpu;
};

/// The best one, and those of the list that are as good but for the GPU, each once.
std::vector<candidate> as_good_as(fi_info const& best, fi_info const* list, std::string const& devices,
                                  surroundings const& here) {
  auto const with_nearness = [&](fi_info const& info) {
    return candidate{&info, nearness_to_gpu(info.domain_attr->name, here.gpu, here.sys)};
  };
  std::vector<candidate> found{with_nearness(best)};
  int const rank = rank_of(best, here);
  if (rank >= loops) return found;
  std::uint64_t const speed = speed_of(best, here);
  int const distance = distance_of(best.domain_attr->name, here.cpus, here.sys);
  for (fi_info const* each = list; each != nullptr; each = each->next) {
    std::string_view const name = each->domain_attr->name;
    auto const has_it = [&](candidate const& other) { return name == other.info->domain_attr->name; };
    if (std::any_of(found.begin(), found.end(), has_it)) continue;
    bool const good = rank_of(*each, here) == rank && same_provider(*each, best) &&
                      is_named(*each, devices) && speed_of(*each, here) == speed &&
                      !is_bridge(name, here.sys) && distance_of(name, here.cpus, here.sys) == distance;
    if (good) found.push_back(with_nearness(*each));
  }
  return found;
}

}  // namespace

choice choose_among(fi_info const* list, std::string const& devices, surroundings const& here) {
  choice made{best_of(list, devices, here), {}, {}};
  if (made.first == nullptr) return made;
  std::vector<candidate> good = as_good_as(*made.first, list, devices, here);
  candidate first = good.front();
  if (!here.gpu.empty() && !names_some(devices)) {
    for (candidate const& each : good) {
      if (same_network(*each.info, *made.first) && nearer(each.to_gpu, first.to_gpu)) first = each;
    }
    made.first = first.info;
    if (std::erase_if(good, [&](candidate const& each) { return nearer(first.to_gpu, each.to_gpu); }) != 0) {
      made.why = (first.to_gpu.bridges != 0 ? "beside GPU " : "near GPU ") + here.gpu;
    }
  }
  // Whose speed the system does not say are alike only where they are named.
  if (speed_of(*made.first, here) == 0 && !names_some(devices)) return made;
  for (candidate const& each : good) {
    if (each.info != made.first && made.alike.size() + 1 < most_rails) made.alike.push_back(each.info);
  }
  return made;
}

std::string name_of(fi_info const& info) {
  return std::string(info.fabric_attr->prov_name) + "/" + info.domain_attr->name;
}

bool same_provider(fi_info const& a, fi_info const& b) {
  return std::strcmp(a.fabric_attr->prov_name, b.fabric_attr->prov_name) == 0;
}

bool is_usable(fi_info const& info) { return rank_of(info) >= 0; }

bool is_loop_back(fi_info const& info) { return rank_of(info) >= loops; }

}  // namespace atl::transport::ofi
